// SPDX-License-Identifier: Apache-2.0
// What jobs do that they should not: misbehave hog MIB | hold MIB | bomb | daemon SECONDS | open FILE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const bool hold = !strcmp(argv[1], "hold");
  if (hold || !strcmp(argv[1], "hog")) {  // takes memory and says how far it got
    const size_t mib = strtoul(argv[2], nullptr, 10);
    for (size_t i = 0; i < mib; ++i) {
      void* piece = malloc(1 << 20);
      memset(piece, static_cast<int>(i), 1 << 20);
    }
    printf("had %zu\n", mib);
    if (hold) pause();
    return 0;
  }
  if (!strcmp(argv[1], "bomb")) {  // forks without end
    for (;;)
      if (fork() < 0) pause();
  }
  if (!strcmp(argv[1], "daemon")) {  // leaves its parents, its session and its environment behind
    if (fork() > 0) return 0;
    setsid();
    if (fork() > 0) return 0;
    clearenv();
    close(0), close(1), close(2);
    sleep(static_cast<unsigned>(atoi(argv[2])));
    return 0;
  }
  if (!strcmp(argv[1], "open")) {
    const int fd = open(argv[2], O_RDONLY);
    printf("%s %s\n", argv[2], fd >= 0 ? "opened" : strerror(errno));
    return 0;
  }
  return 2;
}
