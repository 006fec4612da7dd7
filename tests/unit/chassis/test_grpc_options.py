"""Options of gRPC: an unknown name is ignored in silence, so each one is looked up in the library itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from grpc._cython import cygrpc

from services.chassis import channel, server

SET: dict[str, Any] = dict(
    [*channel._options(channel.ClientConfig(target="host:1")), *server._options(server.ServerConfig(port=0))]
)


@pytest.mark.parametrize("name", SET)
def test_option_is_one_that_grpc_knows(name: str) -> None:
    """MSH-04: no option is misspelled."""
    assert f"{name}\0".encode() in Path(cygrpc.__file__).read_bytes()


def test_a_client_may_ask_as_often_as_it_does() -> None:
    """MSH-04: a server sends clients away that ask for a sign of life more often than it allows."""
    assert SET["grpc.http2.min_ping_interval_without_data_ms"] < SET["grpc.keepalive_time_ms"]
