# SPDX-License-Identifier: Apache-2.0
"""ASTFClient: the calls that it has besides STLClient's, and those that are others there.

A box between the ports carries so many frames a second. Further ones wait in TCP, which sends lost
frames again: connections become late, and none fails.
"""

from ..stl import client as stateless
from ..stl import world as worlds
from ..stl.errors import STLError, validate
from .profile import ASTFProfile

IDLE, LOADED, TX = "Idle", "Loaded profile", "Transmitting"
TIME_WAIT_S = 0.5  # that a closed connection still counts as open


class ASTFClient(stateless.STLClient):
    mode = "astf"

    def __init__(self, username="user", server="localhost", sync_port=4501, async_port=4500):
        super().__init__(username, server, sync_port, async_port)
        self._state, self._profile, self._began, self._seconds, self._ended = IDLE, None, 0.0, 0.0, None
        self._l2, self._mask = {}, 0

    def acquire(self, force=False):
        super().acquire(list(range(len(self._world.ports))), force)

    def set_l2_mode(self, port, dst_mac):
        self._call("set_l2_mode", port=port, dst_mac=dst_mac)
        validate("port", port, int)
        self._ports([port], acquired=True)
        if port not in self._service:
            raise STLError(f"Port {port} : *** port service mode must be enabled for configuring L2 mode.")
        self._l2[port] = dst_mac

    def load_profile(self, profile):
        self._call("load_profile", addresses=profile.addresses(), cps=profile.template.client.cps)
        if not isinstance(profile, ASTFProfile):
            raise STLError("Could not load profile: no profile")
        self._owned()
        if self._transmits():
            raise STLError(
                "Could not load profile, error: Invalid state: Transmitting, should be one of: Idle, Loaded profile"
            )
        self._state, self._profile = LOADED, profile

    def clear_profile(self):
        self._call("clear_profile")
        self._owned()
        if not self._transmits():
            self._state, self._profile = IDLE, None

    def start(self, mult=1, duration=-1, client_mask=0xFFFFFFFF):
        self._call("start", mult=mult, duration=duration, client_mask=client_mask)
        self._owned()
        for name, value, kind in (("mult", mult, (int, float)), ("client_mask", client_mask, int)):
            validate(name, value, kind)
        if self._state != LOADED or self._transmits():
            raise STLError(
                f"Invalid state: {TX if self._transmits() else self._state}, should be one of: Loaded profile"
            )
        if refused := self._profile.refused():
            raise STLError(refused)
        self._state, self._began, self._seconds, self._ended = TX, worlds.clock(self._world), duration, None
        self._mask = client_mask

    def stop(self):
        self._call("stop")
        self._owned()
        if self._transmits():
            self._ended = self._now()

    def is_traffic_active(self, ports=None):
        self._call("is_traffic_active", ports=ports)
        return self._ports(ports) if self._transmits() else []

    def clear_stats(self, ports=None):
        self._call("clear_stats", ports=ports)
        self._ports(ports)

    def get_active(self):
        return list(range(len(self._world.ports))) if self._transmits() else []

    def get_stats(self, ports=None):
        self._call("get_stats", ports=ports)
        self._ports(ports)
        world, now = self._world, self._now()
        whole = {"cpu_util": world.cpu_util, "rx_cpu_util": world.rx_cpu_util, "queue_full": world.queue_full}
        if not self._profile or self._state != TX:
            return {**{port: {} for port in ports}, "global": whole, "traffic": {"client": {}, "server": {}}}
        begun = int(self._asked() * min(now, self._seconds))
        done = max(0, int(self._served() * min(now, self._seconds + self._late())))
        done = min(begun, done) - min(begun, world.fail)
        resent = int(max(0.0, self._asked() - self._served()) * min(now, self._seconds))
        frames = self._profile.frames() * done
        client = {
            "tcps_connattempt": begun,
            "tcps_connects": done,
            "tcps_closed": int(max(0, done - (0 if self._quiet(now) else TIME_WAIT_S * self._served()))),
            "tcps_rcvbyte": done * self._profile.answers() if done else 0,
            "m_active_flows": begun - done,
        }
        if self._ended is not None and begun - done:
            client["tcps_closed"] += begun - done
            client["tcps_testdrops"] = begun - done
        if world.fail and self._quiet(now):
            client["tcps_conndrops"] = world.fail
            client["tcps_closed"] += world.fail
        server = {"tcps_accepts": done, "tcps_sndrexmitpack": resent, **world.errors}
        client = {name: value for name, value in client.items() if value}  # as skip_zero leaves it
        rows = {port: {"opackets": frames, "ipackets": frames} for port in ports}
        rows[ports[1]]["opackets"] += resent
        return {**rows, "global": whole, "traffic": {"client": client, "server": server}}

    def _owned(self):
        if not self._acquired:
            raise STLError("Could not find handler: context must be acquired")

    def _asked(self):
        """Connections a second that begin: those of clients at even ports, if any is enabled."""
        enabled = any(self._mask & 1 << port for port in range(0, len(self._world.ports), 2))
        return self._profile.template.client.cps * self._world.sends if enabled else 0.0

    def _served(self):
        """Connections a second that the box carries."""
        if any(self._l2.get(at) != self._expected(at) for at in (0, 1)):
            return 0.0
        if self._world.capacity_fps is None:
            return self._asked()
        return min(self._asked(), self._world.capacity_fps / self._profile.frames())

    def _expected(self, port):
        return self._world.ports[port ^ 1].mac if self._world.bridge else self._world.ports[port].box_mac

    def _late(self):
        """Seconds until what waits is served."""
        served = self._served()
        return (self._asked() - served) * self._seconds / served if served else float("inf")

    def _now(self):
        return worlds.clock(self._world) - self._began if self._ended is None else self._ended

    def _quiet(self, now):
        return now >= self._seconds + self._late() + TIME_WAIT_S

    def _transmits(self):
        return self._state == TX and self._ended is None and not self._quiet(self._now())
