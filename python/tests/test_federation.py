"""A federation over loopback with both sides in Python."""
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


def test_refusals(tmp_path):
    with pytest.raises(fedplt.Error):
        fedplt.Coordinator(federation="x", roster=["a"], folder=tmp_path / "none").run()
    with pytest.raises(fedplt.BadValue, match="did you mean 'roster'"):
        fedplt.Coordinator(rooster=["a"])
