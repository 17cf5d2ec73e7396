"""A federation over loopback with both sides in Python."""
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import fedplt
from fedplt import federation


def test_two_sites_train_together(tmp_path):
    random = np.random.default_rng(0)
    names, home = ["north", "south"], tmp_path / "home"
    address = f"127.0.0.1:{federation.free_port()}"
    federation.found(home, "hospitals", address)
    pooled = []
    for name in names:
        place = tmp_path / name
        place.mkdir()
        words = federation.request(place, name)
        (place / "agent.pem").write_text(federation.sign(home, words))
        X = random.normal(size=(40, 2))
        y = np.where(X[:, 0] + random.logistic(size=40) > 0, 1, 0)
        pooled.append((X, y))
        with open(place / "rows.csv", "w") as file:
            file.write("a,b,label\n" + "".join(f"{u!r},{v!r},{label}\n" for (u, v), label in
                                               zip(X.tolist(), y.tolist())))
    assert {member["name"]: member["state"] for member in federation.members(home)} == dict.fromkeys(
        names, "member")
    proposals = []
    leader = fedplt.Coordinator(federation="hospitals", listen=address, folder=home, out=tmp_path / "out",
                                roster=names, once=True,
                                train={"algorithm": "fed-plt", "eps": 0.1, "rounds": 20, "tolerance": 0}).start()
    agents = [fedplt.Agent(coordinator="https://" + address, folder=tmp_path / name, out=tmp_path / name / "out",
                           data=tmp_path / name / "rows.csv", once=True, proxy="off",
                           policy={"federations": ["hospitals"], "epsilon": "off"} if name == "north" else None,
                           agree=(lambda proposal, digest: proposals.append(proposal) or True)
                           if name == "south" else None).start() for name in names]
    try:
        outcome = leader.join(60)
        assert outcome is not None and outcome["finished"] and outcome["rounds"] == 20
    finally:
        for one in (leader, *agents):
            one.stop()
            one.join(20)
    assert "hospitals" in proposals[0]
    assert {"started", "joined", "closed"} <= {event["word"] for event in leader.events} or leader.events
    model = fedplt.Model.load(outcome["model"])
    X, y = (np.concatenate(part) for part in zip(*pooled))
    assert np.mean(model.predict(X) == y) > 0.6


def test_ctrl_c_ends_an_agent_that_waits(tmp_path):
    """Its coordinator is not there: it tries again and again, until it is interrupted."""
    address = f"127.0.0.1:{federation.free_port()}"
    federation.found(tmp_path / "home", "hospitals", address)
    place = tmp_path / "north"
    place.mkdir()
    (place / "agent.pem").write_text(federation.sign(tmp_path / "home", federation.request(place, "north")))
    (place / "rows.csv").write_text("a,label\n1,0\n2,1\n3,0\n")
    agent = fedplt.Agent(coordinator="https://" + address, folder=place, data=place / "rows.csv", proxy="off",
                         policy={"federations": ["hospitals"], "epsilon": "off"})
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    before = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        timer.start()
        agent.run()
    timer.join()
    assert time.monotonic() - before < 20  # half a second, and some for busy machines


def test_a_coordinator_goes_on_after_an_interrupt(tmp_path):
    """The same object, as one would run a cell of a notebook again; and never twice at once."""
    address = f"127.0.0.1:{federation.free_port()}"
    federation.found(tmp_path / "home", "hospitals", address)
    leader = fedplt.Coordinator(federation="hospitals", listen=address, folder=tmp_path / "home", out=tmp_path / "out",
                                roster=["north"], train={"algorithm": "fed-plt", "rounds": 2})
    for _ in range(2):
        timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            timer.start()
            leader.run()
        timer.join()
    leader.start()
    assert leader.join(0.5) is None  # it waits for its agent
    for again in (leader.start, leader.run):
        with pytest.raises(fedplt.BadValue, match="runs already"):
            again()
    leader.stop()
    outcome = leader.join(300)
    assert outcome is not None and not outcome["finished"]


def test_a_script_may_end_without_stopping(tmp_path):
    """Threads that still serve do not keep it, nor make it fail."""
    words = f"""
import fedplt
from fedplt import federation
address = f"127.0.0.1:{{federation.free_port()}}"
federation.found({str(tmp_path / "home")!r}, "hospitals", address)
leader = fedplt.Coordinator(federation="hospitals", listen=address, folder={str(tmp_path / "home")!r},
                            out={str(tmp_path / "out")!r}, roster=["north"], on_event=print,
                            train={{"algorithm": "fed-plt", "rounds": 2}}).start()
leader.join(0.3)
"""
    done = subprocess.run([sys.executable, "-c", words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=600)
    assert done.returncode == 0 and not done.stderr, done.stderr


def test_what_an_observer_raises_comes_out(tmp_path):
    address = f"127.0.0.1:{federation.free_port()}"
    federation.found(tmp_path / "home", "hospitals", address)

    def observer(event):
        raise LookupError(event["word"])

    leader = fedplt.Coordinator(federation="hospitals", listen=address, folder=tmp_path / "home", roster=["north"],
                                once=True, train={"algorithm": "fed-plt", "rounds": 2}, on_event=observer).start()
    with pytest.raises(LookupError):
        leader.join(30)
    assert leader.status["word"]


def test_refusals(tmp_path):
    with pytest.raises(fedplt.Error):
        fedplt.Coordinator(federation="x", roster=["a"], folder=tmp_path / "none").run()
    with pytest.raises(fedplt.BadValue, match="did you mean 'roster'"):
        fedplt.Coordinator(rooster=["a"])
    home = tmp_path / "home"
    federation.found(home, "x", "127.0.0.1:7443")
    with pytest.raises(fedplt.BadValue, match="has no run before 1"):  # Python keeps `continue` for itself
        fedplt.Coordinator(federation="x", roster=["a"], folder=home, listen="127.0.0.1:0", continue_=True).run()
    for settings, says in (({"agents": 2}, "agents has no effect in fedplt agent: a site is one agent"),
                           ({"policy": {"delta": 1e-6}}, "policy.delta has no effect without policy.epsilon other than off")):
        with pytest.raises(fedplt.BadValue, match=says):
            fedplt.Agent(coordinator="https://127.0.0.1:1", folder=home, data="none.csv", **settings).run()
    with pytest.raises(fedplt.BadValue, match="quorum has no effect without algorithm"):
        fedplt.Coordinator(federation="x", roster=["a"], folder=home, listen="127.0.0.1:0", quorum=1,
                           train={"algorithm": "fedlin"}).run()
