# SPDX-License-Identifier: Apache-2.0
"""A tiny image around Debian's static busybox, in every form that a container can be made from."""
import gzip
import hashlib
import io
import json
import os
import pathlib
import shutil
import subprocess
import tarfile

BUSYBOX = shutil.which("busybox", path="/usr/bin:/bin")
APPLETS = ("sh", "cat", "echo", "id", "ls", "env", "pwd", "hostname", "touch", "sleep", "mkdir", "head", "dd", "true", "wc",
           "rm", "mount", "stat", "seq")


def sha256(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def add(tar, name, data=None, mode=0o644, link=None, kind=None):
    info = tarfile.TarInfo(name)
    info.mode = mode
    if link is not None:
        info.type, info.linkname = kind or tarfile.SYMTYPE, link
    elif data is None:
        info.type, info.mode = tarfile.DIRTYPE, 0o755
    else:
        info.size = len(data)
    tar.addfile(info, io.BytesIO(data) if data is not None and link is None else None)


def make_tar(fill):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        fill(tar)
    return out.getvalue()


def layers():
    """Two: the second hides and replaces parts of the first."""
    def base(tar):
        for name in ("bin", "etc", "tmp", "opt", "opt/old", "work"):
            add(tar, name)
        add(tar, "bin/busybox", pathlib.Path(BUSYBOX).read_bytes(), 0o755)
        for applet in APPLETS:
            add(tar, f"bin/{applet}", link="busybox")
        add(tar, "etc/marker", b"first layer\n")
        add(tar, "etc/gone", b"hidden by the second layer\n")
        add(tar, "opt/old/file", b"hidden, too\n")
        add(tar, "etc/passwd", b"root:x:0:0:root:/root:/bin/sh\n")
        add(tar, "usr/lib", None)
        add(tar, "lib", link="usr/lib")

    def upper(tar):
        add(tar, "etc/marker", b"from the image\n")
        add(tar, "etc/.wh.gone", b"")
        add(tar, "opt/old/.wh..wh..opq", b"")
        add(tar, "opt/old/new", b"new\n")
        add(tar, "lib/behind-a-link", b"x\n")  # lands in usr/lib
        add(tar, "entry", b"#!/bin/sh\necho entered\nexec \"$@\"\n", 0o755)

    return [make_tar(base), make_tar(upper)]


def config(tars, label=""):
    return json.dumps({"author": label, "architecture": "amd64", "os": "linux",
                       "config": {"Env": ["PATH=/bin", "FROM_IMAGE=yes", "BOTH=image", "SLURM_JOB_ID=evil"],
                                  "Entrypoint": ["/entry"], "Cmd": ["sh"], "WorkingDir": "/work"},
                       "rootfs": {"type": "layers", "diff_ids": [sha256(t) for t in tars]}}).encode()


def oci_layout(path, tag="v1", label=""):
    """`label` makes it another image."""
    path = pathlib.Path(path)
    blobs = path / "blobs/sha256"
    blobs.mkdir(parents=True)

    def blob(data, kind):
        (blobs / sha256(data)[7:]).write_bytes(data)
        return {"mediaType": kind, "digest": sha256(data), "size": len(data)}

    tars = layers()
    packed = [gzip.compress(tars[0], 1, mtime=0),
              subprocess.run(["zstd", "-q", "-c"], input=tars[1], capture_output=True, check=True).stdout]
    manifest = {"schemaVersion": 2, "config": blob(config(tars, label), "application/vnd.oci.image.config.v1+json"),
                "layers": [blob(packed[0], "application/vnd.oci.image.layer.v1.tar+gzip"),
                           blob(packed[1], "application/vnd.oci.image.layer.v1.tar+zstd")]}
    entry = blob(json.dumps(manifest).encode(), "application/vnd.oci.image.manifest.v1+json")
    entry["annotations"] = {"org.opencontainers.image.ref.name": tag}
    (path / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
    (path / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": [entry]}))
    return path


def docker_archive(path, tag="tiny:1"):
    tars = layers()

    def fill(tar):
        add(tar, "c.json", config(tars))
        for i, layer in enumerate(tars):
            add(tar, f"layer{i}/layer.tar", layer)
        add(tar, "manifest.json", json.dumps([{"Config": "c.json", "RepoTags": [tag],
                                               "Layers": [f"layer{i}/layer.tar" for i in range(len(tars))]}]).encode())
    pathlib.Path(path).write_bytes(make_tar(fill))
    return path


def oci_archive(path, layout):
    with tarfile.open(path, "w") as tar:
        for entry in sorted(os.listdir(layout)):
            tar.add(pathlib.Path(layout) / entry, entry)
    return path


def root_directory(path):
    path = pathlib.Path(path)
    for name in ("bin", "etc", "tmp", "work", "opt"):
        (path / name).mkdir(parents=True)
    shutil.copy(BUSYBOX, path / "bin/busybox")
    for applet in APPLETS:
        (path / "bin" / applet).symlink_to("busybox")
    (path / "etc/marker").write_text("from the image\n")
    subprocess.run(["chmod", "-R", "a+rX", str(path)], check=True)
    return path


def squashfs(path, root):
    subprocess.run(["mksquashfs", str(root), str(path), "-quiet", "-no-progress", "-noappend"], check=True,
                   stdout=subprocess.DEVNULL)
    return path


def bundle(path, root, **changes):
    path = pathlib.Path(path)
    path.mkdir()
    spec = {"ociVersion": "1.0.2", "root": {"path": str(root), "readonly": True}, "hostname": "boxed",
            "process": {"args": ["sh"], "env": ["PATH=/bin", "FROM_BUNDLE=yes"], "cwd": "/work"},
            "mounts": [{"destination": "/proc", "type": "proc", "source": "proc"},
                       {"destination": "/scratch", "type": "tmpfs", "source": "tmpfs"}],
            "linux": {"maskedPaths": ["/proc/kcore", "/etc/marker"], "readonlyPaths": ["/proc/sys"]}}
    spec.update(changes)
    (path / "config.json").write_text(json.dumps(spec))
    subprocess.run(["chmod", "-R", "a+rX", str(path)], check=True)
    return path
