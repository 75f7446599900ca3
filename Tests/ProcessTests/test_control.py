"""Section 3: what a reply says, what a request may say, and how a wrong one is answered."""

import json

import pytest

from holdgate import error_code, events

COMMANDS = {
    "startOperation", "holdOperation", "kill", "initialize", "initializeWithHoldingOperations", "endLaunch", "state",
    "isOperating", "ping", "commands", "configuration", "configure", "history", "plugins", "forget", "deadLetters",
    "requeue", "stats", "request", "plugin", "appLifecycle", "reload",
}


def test_every_reply_says_where_the_gate_is(shared):
    reply = shared.ok("ping")
    assert reply == {
        "v": 1, "ok": True, "state": "operating", "isOperating": True, "seq": 1, "launch": shared.launch,
        **({"id": None} if "id" in reply else {}),
    }


@pytest.mark.parametrize("id", [0, -7, 1.5, "text", "ü\u20ac\n\"", True, "x" * 126])
def test_the_id_is_echoed(shared, id):
    assert shared.ok("ping", id=id)["id"] == id


def test_an_id_is_echoed_with_an_error_too(shared):
    assert shared.req("nonsense", id="here")["id"] == "here"


@pytest.mark.parametrize("id", ["x" * 127, [1], {"a": 1}])
def test_an_id_that_is_long_or_no_scalar_is_refused(shared, id):
    assert error_code(shared.req("ping", id=id)) in ("invalidArgument", "invalidMessage")


def test_commands_lists_what_is_served(shared):
    assert set(shared.ok("commands")["commands"]) == COMMANDS


def test_is_operating_follows_the_state(held):
    assert held.ok("isOperating")["isOperating"] is False
    held.ok("start")
    assert held.ok("isOperating")["isOperating"] is True


def test_start_and_hold_are_aliases(held):
    assert held.ok("start")["state"] == "operating"
    assert held.ok("hold")["state"] == "holdRequested"


def test_state_tells_more(shared):
    state = shared.state()
    assert {"since", "pending", "gated", "queuedBytes", "initializedWith"} <= set(state)
    assert (state["pending"], state["gated"], state["queuedBytes"]) == (0, 0, 0)
    assert state["initializedWith"] == "initialize"
    assert state["since"].endswith("Z") and len(state["since"]) == len("2026-03-01T12:00:00.000Z")


@pytest.mark.parametrize("command", ["Request", "applifecycle", "Start", "", "start "])
def test_a_command_that_is_not_served_is_unknown(shared, command):
    assert shared.error(command) == "unknownCommand"


def test_the_version_is_one(shared):
    assert shared.ok("ping", v=1)
    assert shared.error("ping", v=2) == "unsupportedVersion"


def test_only_the_hosts_own_gate_is_served(shared):
    assert shared.ok("ping", gate=[])
    assert shared.error("holdOperation", gate=["alice"]) == "unknownGate"
    assert shared.state()["state"] == "operating"


@pytest.mark.parametrize("command, members", [
    ("holdOperation", {"expct": {"state": "onHold"}}),
    ("holdOperation", {"leaseMs": 1000}),
    ("startOperation", {"waitMs": 1000}),
    ("kill", {"sure": True}),
    ("ping", {"key": "a"}),
    ("state", {"expect": {}}),
    ("holdOperation", {"expect": {"sequence": 1}}),
    ("endLaunch", {"restart": False, "when": "now"}),
])
def test_a_member_that_the_command_does_not_define_changes_nothing(shared, command, members):
    assert shared.error(command, **members) == "invalidArgument"
    assert shared.state()["seq"] == 1


@pytest.mark.parametrize("command, members", [
    ("holdOperation", {"waitMs": "1"}), ("holdOperation", {"waitMs": -1}), ("holdOperation", {"waitMs": 1.5}),
    ("holdOperation", {"gatedEvents": "drop"}), ("holdOperation", {"gatedEvents": 1}),
    ("holdOperation", {"source": 1}), ("holdOperation", {"reason": ["x"]}), ("holdOperation", {"key": 5}),
    ("holdOperation", {"expect": []}), ("holdOperation", {"expect": {"state": "closed"}}),
    ("holdOperation", {"expect": {"seq": "1"}}), ("holdOperation", {"expect": {"launch": 1}}),
    ("holdOperation", {"gate": "alice"}), ("holdOperation", {"gate": [1]}),
    ("startOperation", {"leaseMs": 0}), ("startOperation", {"leaseMs": True}),
    ("startOperation", {"leaseMs": 1 << 62}), ("endLaunch", {"restart": "yes"}),
    ("history", {"after": -1}), ("history", {"limit": "all"}), ("configure", {"set": [1]}), ("configure", {}),
    ("forget", {}), ("forget", {"name": 1}), ("requeue", {"seqs": 1}), ("requeue", {"seqs": ["1"]}), ("requeue", {}),
    ("deadLetters", {"after": "x"}),
])
def test_a_member_of_the_wrong_type_or_range_changes_nothing(shared, command, members):
    assert shared.error(command, **members) == "invalidArgument"
    assert shared.state()["seq"] == 1


def test_forget_of_an_unknown_collector_says_so(shared):
    assert shared.error("forget", name="nobody") == "invalidArgument"


def test_configure_is_a_merge_patch_and_survives_a_restart(hosts):
    host = hosts("--operating")
    assert host.ok("configuration")["configuration"] == {}
    host.ok("configure", set={"a": {"b": 1, "c": [1, 2]}, "d": "x"})
    merged = host.ok("configure", set={"a": {"b": None, "e": "ü"}, "d": [None]})["configuration"]
    assert merged == {"a": {"c": [1, 2], "e": "ü"}, "d": [None]}
    host.restart(hard=True)
    assert host.ok("configuration")["configuration"] == merged
    host.ok("kill")
    assert host.ok("configuration")["configuration"] == {}
    assert host.error("configure", set={"a": 1}) == "notOperating"


def test_a_configuration_beyond_its_limit_is_refused(shared):
    before = shared.ok("configuration")["configuration"]
    assert shared.error("configure", set={"big": "x" * (1 << 20)}) == "tooLarge"
    assert shared.ok("configuration")["configuration"] == before


def test_the_history_is_read_in_pages(operating):
    for _ in range(3):
        operating.ok("hold", waitMs=10_000, source="tester", reason="T-1")
        operating.ok("start")
    everything = operating.records()
    assert [record["n"] for record in everything] == list(range(everything[0]["n"], everything[-1]["n"] + 1))
    assert [record["state"] for record in everything] == ["operating"] + 3 * ["holdRequested", "onHold", "operating"]
    assert [record["seq"] for record in everything] == list(range(1, 11))
    assert (everything[1]["source"], everything[1]["reason"]) == ("tester", "T-1")
    assert everything[1]["command"] == "holdOperation" and everything[2]["command"] == "drained"
    page = operating.ok("history", after=everything[1]["n"], limit=2)["records"]
    assert page == everything[2:4]
    assert operating.ok("history", after=everything[-1]["n"], limit=2)["records"] == []


def test_stats_count(operating):
    before = operating.ok("stats")["stats"]
    operating.accept(events(1, 7))
    after = operating.ok("stats")["stats"]
    assert after["eventsAccepted"] == before["eventsAccepted"] + 7
    assert all(isinstance(value, (int, float)) for value in after.values())


def test_json_may_be_spaced_and_escaped_as_json_allows(shared):
    reply = shared.raw('\n { "comm\\u0061nd" :\t"p\\u0069ng" , "id" : "\\ud83d\\ude00" }\r\n')
    assert reply["ok"] and reply["id"] == "\U0001f600"


def test_a_request_is_one_frame(shared):
    assert error_code(shared.ask("control", b'{"command":"ping"}', b'{"command":"ping"}')) == "invalidMessage"


def test_source_and_reason_reach_stream_and_history(operating):
    stream = operating.sub("state").joined()
    operating.ok("hold", source="consent-service", reason="TICKET-123")
    body = stream.until("state", state="holdRequested").body
    assert (body["source"], body["reason"], body["previous"]) == ("consent-service", "TICKET-123", "operating")
    assert json.dumps(operating.records()).count("TICKET-123") == 1
