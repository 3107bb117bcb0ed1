# SPDX-License-Identifier: Apache-2.0
"""Three controllers, each in a network namespace of its own, joined by a bridge in a fourth, where agents and commands are. A
controller is cut off by taking its end out of the bridge: nothing is refused, everything is lost, as with a broken switch. Needs
root; nothing outside these namespaces is touched, and stop() removes them."""
import os
import subprocess

from ha_cluster import NAMES, HaCluster


def ip(*words):
    subprocess.run(["ip", *words], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


class NetHaCluster(HaCluster):
    subnet = "10.213.77"

    def __init__(self, **kw):
        self.tag = f"spur{os.getpid()}"
        self.cut_off = set()
        self.build_net()
        try:
            super().__init__(**kw)
        except BaseException:
            self.remove_net()
            raise
        text = self.conf.read_text()
        text = text.replace(f'listen_addr = "127.0.0.1:{self.port}"', f'listen_addr = "0.0.0.0:{self.port}"')
        self.conf.write_text(text)

    def space(self, name):
        return f"{self.tag}-{name}"

    def build_net(self):
        hub = self.space("hub")
        for name in ["hub", *NAMES]:
            ip("netns", "add", self.space(name))
            ip("-n", self.space(name), "link", "set", "lo", "up")
        ip("-n", hub, "link", "add", "br0", "type", "bridge", "stp_state", "0", "forward_delay", "0")
        ip("-n", hub, "addr", "add", f"{self.subnet}.254/24", "dev", "br0")
        ip("-n", hub, "link", "set", "br0", "up")
        for name in NAMES:
            ip("link", "add", "eth0", "netns", self.space(name), "type", "veth", "peer", "name", name, "netns", hub)
            ip("-n", self.space(name), "addr", "add", f"{self.address(name)}/24", "dev", "eth0")
            ip("-n", self.space(name), "link", "set", "eth0", "up")
            ip("-n", hub, "link", "set", name, "up", "master", "br0")

    def remove_net(self):
        for name in [*NAMES, "hub"]:
            subprocess.run(["ip", "netns", "del", self.space(name)], check=False, stderr=subprocess.DEVNULL)

    def address(self, name):
        return f"{self.subnet}.{NAMES.index(name) + 1}"

    @property
    def agent_address(self):
        return f"{self.subnet}.254"

    def within(self, key):
        return ["nsenter", f"--net=/run/netns/{self.space(key if key in NAMES else 'hub')}"]

    def cut(self, name):
        ip("-n", self.space("hub"), "link", "set", name, "nomaster")
        self.cut_off.add(name)

    def mend(self, name):
        ip("-n", self.space("hub"), "link", "set", name, "master", "br0")
        self.cut_off.discard(name)

    def role(self, name):
        return None if name in self.cut_off else super().role(name)

    def stop(self):
        try:
            super().stop()
        finally:
            self.remove_net()
