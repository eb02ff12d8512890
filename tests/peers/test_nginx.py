# SPDX-License-Identifier: Apache-2.0
"""nginx with TLS and passwords in front of the daemon's page, by the file of docs/examples."""

from __future__ import annotations

import json
import os
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sallyport.simulator import Simulator
from tests.peers.programs import need
from tests.support.daemon import Daemon
from tests.support.namespaces import WAIT_S
from tests.support.pairs import certify
from tests.support.paths import ROOT

# Two runs of the tests on one machine have other ports.
PAGE, PROXY = (f"127.0.0.1:{20000 + os.getpid() * 8 % 12000 + n}" for n in (1, 2))
NAME = "box.example.net"
MAIN = """user root;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{}}
http {{
  access_log off;
  include {folder}/site.conf;
}}
"""


@contextmanager
def nginx(folder: Path) -> Iterator[None]:
    """nginx under way with the documented file, whose addresses and paths are those of the test."""
    program, _ = need("nginx", "openssl")
    certify(folder, NAME)
    password = subprocess.run(["openssl", "passwd", "-apr1", "secret"], capture_output=True, text=True, check=True)
    (folder / "passwords").write_text(f"operator:{password.stdout}")
    site = (ROOT / "docs/examples/nginx.conf").read_text()
    for documented, here in (
        ("listen 9443", f"listen {PROXY}"),
        ("127.0.0.1:9775", PAGE),
        ("/etc/nginx/sallyport.pem", f"{folder}/{NAME}.pem"),
        ("/etc/nginx/sallyport.key", f"{folder}/{NAME}.key"),
        ("user_file /etc/nginx/sallyport.passwords", f"user_file {folder}/passwords"),
    ):
        assert documented in site
        site = site.replace(documented, here)
    (folder / "site.conf").write_text(site)
    (folder / "nginx.conf").write_text(MAIN.format(folder=folder))
    process = subprocess.Popen([program, "-p", folder, "-c", "nginx.conf", "-g", "daemon off;"])
    try:
        end = time.monotonic() + WAIT_S
        while not (folder / "nginx.pid").exists():
            assert process.poll() is None and time.monotonic() < end, (folder / "error.log").read_text()
            time.sleep(0.05)
        yield
    finally:
        process.terminate()
        process.wait(WAIT_S)


def get(path: str, folder: Path, password: str | None = "secret") -> bytes:
    """What the proxy says under its name, with its certificate checked."""
    trust = ssl.create_default_context(cafile=str(folder / f"{NAME}.pem"))
    trust.check_hostname = False  # the certificate's name is no name of this machine
    request = urllib.request.Request(f"https://{PROXY}{path}", headers={"Host": NAME})
    if password:
        request.add_header("Authorization", f"Basic {b64encode(f'operator:{password}'.encode()).decode()}")
    with urllib.request.urlopen(request, context=trust) as answer:
        return answer.read()


def refused(what, *arguments: object) -> int:
    """The status of an answer that is an error."""
    try:
        what(*arguments)
    except urllib.error.HTTPError as error:
        return error.code
    raise AssertionError("the request was answered")


def test_the_page_behind_tls_and_a_password(tmp_path: Path) -> None:
    need("nginx", "openssl")
    with Simulator(boxes=1, threads=None, seed=1) as sim:
        daemon = Daemon(sim.socket(0), tmp_path / "daemon", more=f'[web]\nlisten = "{PAGE}"')
        daemon.start()
        try:
            with nginx(tmp_path):
                page = get("/", tmp_path)
                with urllib.request.urlopen(f"http://{PAGE}/") as answer:
                    assert answer.read() == page
                assert set(json.loads(get("/api/box", tmp_path))) >= {"chips"}
                assert refused(get, "/", tmp_path, None) == 401
                assert refused(get, "/api/box", tmp_path, "wrong") == 401
                # The daemon itself takes no request under a name, as a page of another site would
                # send it.
                by_name = urllib.request.Request(f"http://{PAGE}/", headers={"Host": NAME})
                assert refused(urllib.request.urlopen, by_name) in (403, 421)
            assert daemon.stop() == 0
        finally:
            daemon.kill()
