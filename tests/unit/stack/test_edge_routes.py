"""The contract as routes: what is listed, and what is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from google.api import annotations_pb2
from google.protobuf.descriptor import FileDescriptor
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet

from canopy.options.v1 import access_pb2
from services.cli.stack.edge_routes import EdgeContractError, contract_path, path_regex, read_rules

INT64 = FieldDescriptorProto.TYPE_INT64
MESSAGE = FieldDescriptorProto.TYPE_MESSAGE
REPEATED = FieldDescriptorProto.LABEL_REPEATED
OPTIONAL = FieldDescriptorProto.LABEL_OPTIONAL


def contract(change: Callable[[FileDescriptorProto], None] = lambda file: None) -> bytes:
    """Build a descriptor set with one service of one method; `change` may spoil it."""
    files = FileDescriptorSet()
    for dependency in (annotations_pb2, access_pb2):
        _add(files, dependency.DESCRIPTOR)
    file = files.file.add(name="canopy/trial/v1/trial.proto", package="canopy.trial.v1", syntax="proto3")
    file.dependency.extend(["google/api/annotations.proto", "canopy/options/v1/access.proto"])
    span = file.message_type.add(name="Span")
    span.field.add(name="from_page", json_name="fromPage", number=1, type=INT64, label=OPTIONAL)
    span.field.add(
        name="inner", json_name="inner", number=2, type=MESSAGE, label=OPTIONAL, type_name=".canopy.trial.v1.Span"
    )
    request = file.message_type.add(name="Request")
    request.field.add(name="tree_id", json_name="treeId", number=1, type=INT64, label=OPTIONAL)
    request.field.add(name="leaf_ids", json_name="leafIds", number=2, type=INT64, label=REPEATED)
    for number, (name, label) in enumerate((("span", OPTIONAL), ("spans", REPEATED)), start=3):
        request.field.add(
            name=name, json_name=name, number=number, type=MESSAGE, label=label, type_name=".canopy.trial.v1.Span"
        )
    method = file.service.add(name="TrialService").method.add(
        name="Get", input_type=".canopy.trial.v1.Request", output_type=".canopy.trial.v1.Span"
    )
    options: Any = method.options
    options.Extensions[annotations_pb2.http].get = "/v1/trees/{tree_id}"
    change(file)
    return files.SerializeToString()


def _add(files: FileDescriptorSet, descriptor: FileDescriptor) -> None:
    for dependency in descriptor.dependencies:
        _add(files, dependency)
    if all(file.name != descriptor.name for file in files.file):
        descriptor.CopyToProto(files.file.add())


def options_of(file: FileDescriptorProto) -> Any:
    """Return the options of the one method."""
    return file.service[0].method[0].options


def test_query_of_a_get_takes_leaves_but_not_the_path_and_not_lists_of_messages() -> None:
    """MSH-11: the parameters are an allow-list, in both spellings, and recursion ends."""
    (rule,) = read_rules(contract())

    assert rule.query_names == ("leafIds", "leaf_ids", "span.fromPage", "span.from_page")


def test_rule_carries_what_the_contract_says_and_the_defaults_where_it_is_silent() -> None:
    """MSH-08: 200 and 1 MiB unless the method says otherwise."""

    def created(file: FileDescriptorProto) -> None:
        rest = options_of(file).Extensions[access_pb2.rest]
        rest.success_status = 201
        rest.max_body_bytes = 7

    (silent,) = read_rules(contract())
    (said,) = read_rules(contract(created))

    assert (silent.success_status, silent.max_body_bytes) == (200, 1024 * 1024)
    assert (said.success_status, said.max_body_bytes) == (201, 7)
    assert said.owner == "trial"
    assert said.grpc_path == "/canopy.trial.v1.TrialService/Get"


def test_each_additional_binding_is_a_route_of_its_own() -> None:
    """MSH-11: a method can be reached in more than one way."""

    def twice(file: FileDescriptorProto) -> None:
        options_of(file).Extensions[annotations_pb2.http].additional_bindings.add(post="/v1/trees:get")

    assert [(rule.verb, rule.template, rule.query_names != ()) for rule in read_rules(contract(twice))] == [
        ("GET", "/v1/trees/{tree_id}", True),
        ("POST", "/v1/trees:get", False),
    ]


def test_method_without_a_binding_is_not_routed() -> None:
    """MSH-11: internal methods have no way in."""

    def silent(file: FileDescriptorProto) -> None:
        options_of(file).ClearExtension(annotations_pb2.http)

    assert read_rules(contract(silent)) == ()


@pytest.mark.parametrize("fault", ["client stream", "custom verb", "status"])
def test_contract_that_cannot_be_routed_is_refused(fault: str) -> None:
    """MSH-11: a mistake in the contract is found when the edge is made, and the message names the method."""

    def spoil(file: FileDescriptorProto) -> None:
        match fault:
            case "client stream":
                file.service[0].method[0].client_streaming = True
            case "custom verb":
                options_of(file).Extensions[annotations_pb2.http].custom.kind = "PRUNE"
            case _:
                options_of(file).Extensions[access_pb2.rest].success_status = 204

    with pytest.raises(EdgeContractError, match=r"canopy\.trial\.v1\.TrialService\.Get"):
        read_rules(contract(spoil))


@pytest.mark.parametrize(
    ("template", "path", "fits"),
    [
        ("/v1/trees/{tree_id}", "/v1/trees/7", True),
        ("/v1/trees/{tree_id}", "/v1/trees/7/leaves", False),
        ("/v1/trees/{tree_id}", "/v1/trees/7:fell", False),
        ("/v1/trees/{tree_id}", "/v1/trees/", False),
        ("/v1/trees/{tree_id}:fell", "/v1/trees/7:fell", True),
        ("/v1/{name=trees/*}/leaves", "/v1/trees/7/leaves", True),
        ("/v1/{name=trees/**}", "/v1/trees/7/leaves/8", True),
        ("/v1/a.b", "/v1/aXb", False),
    ],
)
def test_template_becomes_an_expression_for_the_whole_path(template: str, path: str, fits: bool) -> None:
    """MSH-11: a variable is one segment, and a verb is never part of it."""
    assert (re.fullmatch(path_regex(template), path) is not None) is fits


def test_real_contract_can_be_routed() -> None:
    """MSH-11: the draft's own limit of 400 KiB reaches the edge, and submit is 201."""
    rules = {f"{rule.verb} {rule.template}": rule for rule in read_rules(contract_path().read_bytes())}

    assert rules["PUT /v1/portal/draft"].max_body_bytes == 400 * 1024
    assert rules["POST /v1/portal/draft:submit"].success_status == 201
