"""A second verifier of privacy certificates, written from docs/privacy.md and the schema alone.

wrongs(document) lists what does not follow from the document's own inputs; an empty list means that
the claim holds. It knows the mathematics and not the program: sums are added up term by term, the
conversion searches the order on a line.
"""
import hashlib
import json
import math
import pathlib
import struct

SCHEMA = json.loads((pathlib.Path(__file__).parents[2] / "schema/privacy.schema.json").read_text())
SECURE = SCHEMA["properties"]["noise"]["enum"][0]
# They send a bare gradient, or extrapolate from messages in a way no proof covers.
WITHOUT_PROOF = {"fedlin", "5gcs", "fed-plt-anderson", "fed-lbfgs", "fed-newton", "fednl"}
# The parameter that pulls local training to its centre: its inverse, or itself for fedprox.
PULLS = {"fed-plt": ("rho", -1), "fedsplit": ("rho", -1), "fedpd": ("eta", -1), "fedprox": ("mu", 1)}
# loss: gradient of a record over its row's norm, curvature over its square, one margin
LOSSES = {"logistic": (1, 1 / 4, True), "softmax": (math.sqrt(2), 1 / 2, False),
          "huber": (1, 1, True), "least-squares": (math.inf, 1, True),
          "squared-hinge": (math.inf, 1, True), "poisson": (math.inf, 1, True)}


def near(stated, found):
    if stated is None or found is None:
        return stated is found
    return stated == found or abs(stated - found) <= 1e-8 * max(abs(stated), abs(found))


def constants(problem):
    """What one record can do: gradient bound, curvature bound, whether rounds may contract."""
    gradient, curvature, one_margin = LOSSES[problem["loss"]]
    norm = math.hypot(problem["row_norm"], 1) if problem["intercept"] else problem["row_norm"]
    bound = gradient * norm
    if ("predictor_bound" in problem) != (problem["loss"] == "poisson"):
        raise ValueError("a bound on the predictor is poisson's, and needed there")
    curvature *= math.exp(problem.get("predictor_bound", 0))
    if problem["loss"] == "huber":
        bound *= problem["huber_delta"]
    clipped = 0 < problem["clip"] < bound
    return (problem["clip"] if clipped else bound), curvature * norm * norm, \
        one_margin or not clipped


def weights(document):
    records = [agent["records"] for agent in document["agents"]]
    if document["problem"]["weights"] == "agents":
        return [1.0] * len(records)
    return [q * len(records) / sum(records) for q in records]


def curvatures(document, loss):
    """The least and the largest of every f_i: loss and regulariser, times what the agent weighs."""
    problem = document["problem"]
    weight = problem["regulariser_weight"]
    low, high = {"ridge": (weight, weight), "nonconvex": (-weight / 2, 2 * weight),
                 "none": (0, 0)}[problem["regulariser"]]
    if problem["intercept"]:
        low = min(low, 0)
    shares = weights(document)
    return min(low * share for share in shares), max((high + loss) * share for share in shares)


class Steps:
    """The noisy steps of one document: what a step and a round cost an agent."""

    def __init__(self, document):
        m = document["mechanism"]
        self.gamma, self.pull = m["step"], m["inverse_rho"]
        self.dimension = document["problem"]["dimension"]
        self.deviations = [math.sqrt(2 * self.gamma) * agent["tau"] for agent in document["agents"]]
        self.hides = min(self.deviations)  # a final model: what one agent lost may lie in any other
        low, high = m["strong_convexity"], m["smoothness"]
        self.low, self.high = low, high
        self.c = max(abs(1 - self.gamma * (low + self.pull)),
                     abs(1 - self.gamma * (high + self.pull)))
        self.contracts = m["contraction"] and self.c < 1
        self.epochs = math.inf if m["epochs_drawn"] else m["epochs"]
        self.group = document["promise"]["group"]

    def lattice(self, deviations):
        """How far lattices of such deviations move the vectors on them, all together."""
        squares = math.fsum(deviation ** 2 for deviation in deviations)
        return 3 / 2 ** 20 * math.sqrt(self.dimension * squares)

    def sums(self):
        """sum c^l and sum c^2l over a round."""
        if self.epochs == math.inf:
            return 1 / (1 - self.c), 1 / (1 - self.c ** 2)
        powers = [self.c ** l for l in range(self.epochs)]
        return math.fsum(powers), math.fsum(p * p for p in powers)

    def kappa(self):
        if not self.contracts:
            return float(self.epochs)
        once, squares = self.sums()
        return once ** 2 / squares

    def step(self, gap, agent):
        own = self.deviations[agent]
        return self.group * (self.gamma * gap + self.lattice([own])) / own

    def final(self, gap, rounds):
        """[Theorem F] for all final x together."""
        if not self.contracts:
            return math.inf
        once, squares = self.sums()
        chi, shift = self.c ** self.epochs, self.gamma * gap + self.lattice(self.deviations)
        away = max(abs(self.pull - self.low), abs(self.pull - self.high))
        a = b = 0.0
        for _ in range(rounds):
            a, b = (chi * a + self.gamma * self.pull * once * b + shift * once,
                    2 * chi * a + (chi + self.gamma * away * once) * b + 2 * shift * once)
        return self.group * a / (self.hides * math.sqrt(squares))


def conversion(rate, delta):
    """(epsilon, order): the least over a > 1 of a D + ln(1 - 1/a) - (ln delta + ln a)/(a - 1)."""
    if rate == 0:
        return 0.0, None

    def epsilon(a):
        return rate * a + math.log1p(-1 / a) - (math.log(delta) + math.log(a)) / (a - 1)
    # its slope has the sign of D (a - 1)^2 + ln a - ln(1/delta), which rises
    low, high = 1.0, 1 + math.sqrt(-math.log(delta) / rate)
    for _ in range(200):
        middle = (low + high) / 2
        if rate * (middle - 1) ** 2 + math.log(middle) < -math.log(delta):
            low = middle
        else:
            high = middle
    return max(0.0, epsilon(high)), high


def sum_step(document, steps, agent):
    """[Theorem S] one step, hidden by the noise of all honest agents; adding the records moves it by q^2 2^-53."""
    m, records = document["mechanism"], document["agents"][agent]["records"]
    gap = m["sensitivity"] * weights(document)[agent] / records * (1 + records ** 2 / 2 ** 53)
    return steps.step(gap, agent) / math.sqrt(m["honest"])


def loss_of(document, steps, agent, rounds):
    """mu of one agent when so many rounds are charged, and the theorem it comes from."""
    m, agents = document["mechanism"], document["agents"]
    gap = m["sensitivity"] * weights(document)[agent] / agents[agent]["records"]
    messages = steps.step(gap, agent) * math.sqrt(steps.kappa() * rounds)
    if document["threat"]["name"] == "secagg-sum":
        return sum_step(document, steps, agent) * math.sqrt(rounds), "S"
    if document["threat"]["name"] == "final-x" and m["theorem_f_applies"]:
        final = steps.final(gap, rounds)
        if final < messages:
            return final, "F"
    return messages, "T"


def weakest(document, losses):
    """Who loses most; of those who lose the same, whose records weigh most."""
    most = max(losses)
    gaps = [share / agent["records"]
            for share, agent in zip(weights(document), document["agents"])]
    return max((i for i, mu in enumerate(losses) if mu >= most * (1 - 1e-12)),
               key=gaps.__getitem__)


def weakest_tau(document):
    steps, rounds = Steps(document), document["mechanism"]["rounds"]
    losses = [loss_of(document, steps, i, rounds)[0] for i in range(len(document["agents"]))]
    return document["agents"][weakest(document, losses)]["tau"]


def check_inputs(document, say):
    m, problem = document["mechanism"], document["problem"]
    if problem["loss"] not in LOSSES:
        return say("the loss is not known")
    gradient, loss, bends_not = constants(problem)
    if math.isinf(gradient):
        return say("the gradient has no bound")
    low, high = curvatures(document, loss)
    for name, stated, found in [
            ("sensitivity", m["sensitivity"], 2 * gradient),
            ("least curvature", m["strong_convexity"], low),
            ("largest curvature", m["smoothness"], high),
            ("least noise", m["tau"], min(agent["tau"] for agent in document["agents"])),
            ("deviation", m["noise_deviation"], math.sqrt(2 * m["step"]) * m["tau"]),
            ("spacing", m["lattice"]["spacing"], math.sqrt(2 * m["step"]) * m["tau"] / 2 ** 20),
            ("lattice", m["lattice"]["deviation"], 2 ** 20),
            ("dimension", document["model"]["dimension"], problem["dimension"])]:
        if not near(stated, found):
            say(f"{name} is {stated}, not {found}")
    name, power = PULLS.get(m["algorithm"], (None, 0))
    if not near(m["inverse_rho"], m["parameters"][name] ** power if name else 0):
        say("the pull does not follow from the parameters")
    contracts = bends_not and m["solver"] == "noisy" and low + m["inverse_rho"] > 0
    if m["algorithm"] in ("fedavg", "fedprox") and m["epochs"] == 1:
        contracts = contracts and Steps(document).c < 1  # gradient descent: one step costs the same either way
    if m["contraction"] != contracts:
        say("whether rounds contract does not follow")
    if m["contraction"] and Steps(document).c >= 1:
        say("the step is too long to contract")
    if m["epochs_drawn"] and not m["contraction"]:
        say("steps without limit")
    if not m.get("lattice_noise", True):
        say("the lattice is not charged")
    if m["algorithm"] in WITHOUT_PROOF:
        say("no proof covers the algorithm")
    part, agents = document["participation"], document["agents"]
    if m["theorem_f_applies"] != (part["full"] and m["algorithm"] == "fed-plt"):
        say("whether Theorem F applies does not follow")
    if part["full"] != (part["least"] == len(agents)) or (part["rule"] == "all") > part["full"] or \
            part["least"] > len(agents):
        say("who takes part contradicts itself")
    if document["threat"]["name"] == "secagg" and part["least"] < 2:
        say("a sum of one agent hides nothing")
    if part["full"] and any(agent["rounds_charged"] != m["rounds"] for agent in agents):
        say("everybody took part in every round, but not every round is charged")


DIVIDED = {"honest", "colluders", "threshold", "most", "unit"}


def check_sums(document, say):
    """Divided noise: who is in every sum for certain. Elsewhere its fields are absent."""
    m, promise, agents = document["mechanism"], document["promise"], document["agents"]
    part, alone = document["participation"], {"alone_mu", "alone_epsilon"}
    if document["threat"]["name"] != "secagg-sum":
        if DIVIDED & set(m) or alone & set(promise) or document["version"] == 4:
            say("fields of divided noise")
        return
    if not DIVIDED <= set(m) or not alone <= set(promise) or document["version"] != 4:
        return say("fields of divided noise are missing")
    if m["algorithm"] not in ("fedavg", "fedprox") or m["solver"] != "noisy" or m["epochs"] != 1:
        say("the noise of this training may not be divided")
    t, c, count = m["threshold"], m["colluders"], len(agents)
    if m["honest"] != (t or count) - c or m["honest"] < 2 or count > 1000:
        say("the honest agents are others")
    if m["most"] != count and (part["full"] or m["most"] != part["least"]):
        say("the largest cohort is another")
    if t and (2 * t <= m["most"] + c or t >= count or t > part["least"]) or not t and not part["full"]:
        say("the quorum is too small, or none can be met")
    if len({agent["tau"] for agent in agents}) > 1 or not near(m["unit"], m["lattice"]["spacing"]):
        say("the lattices differ")
    steps = Steps(document)
    losses = [loss_of(document, steps, i, m["rounds"])[0] for i in range(count)]
    worst = weakest(document, losses)
    gap = m["sensitivity"] * weights(document)[worst] / agents[worst]["records"]
    mu = steps.step(gap, worst) * math.sqrt(m["rounds"])
    if not near(promise["alone_mu"], mu) or \
            not near(promise["alone_epsilon"], conversion(mu ** 2 / 2, promise["delta"])[0]):
        say("what is left without the others is another")
    if sum("colluders" in text or "identity keys" in text for text in document["assumptions"]) != 2:
        say("the assumptions about colluders and keys are missing")


def check_unit(document, say):
    """Whose records are meant: some, or those of one person."""
    group = document["promise"]["group"]
    records = f"{group} record{'s' if group > 1 else ''}"
    person = document["unit"] == f"one person of at most {records}"
    if not person and document["unit"] != ("one record" if group == 1 else records):
        say("the unit is another")
    if ("one person" in document["neighbours"]) != person or \
            document["unit"] not in document["statement"]:
        say("neighbours or statement are about another unit")


def check_promise(document, say):
    promise, m, agents = document["promise"], document["mechanism"], document["agents"]
    steps = Steps(document)
    losses = [loss_of(document, steps, i, m["rounds"]) for i in range(len(agents))]
    worst = weakest(document, [mu for mu, _ in losses])
    mu, theorem = losses[worst]
    gap = m["sensitivity"] * weights(document)[worst] / agents[worst]["records"]
    step = sum_step(document, steps, worst) if theorem == "S" else steps.step(gap, worst)
    epsilon, order = conversion(mu ** 2 / 2, promise["delta"])
    for name, found in [("gdp_mu", mu), ("renyi_rate", mu ** 2 / 2), ("epsilon", epsilon),
                        ("kappa", steps.kappa()), ("mu_step", step),
                        ("mu_round", step * math.sqrt(steps.kappa())),
                        ("order", order), ("rounds", m["rounds"])]:
        if not near(promise[name], found):
            say(f"promise.{name} is {promise[name]}, not {found}")
    if promise["conversion"] != "tight" or not promise["method"].startswith(f"Theorem {theorem}:"):
        say("the method or the conversion is another")
    if f"({promise['epsilon']:.4g}, {promise['delta']:g})" not in document["statement"]:
        say("the statement promises something else")
    for i, agent in enumerate(agents):
        own, _ = loss_of(document, steps, i, agent["rounds_charged"])
        if agent["agent"] != i or not near(agent["gdp_mu"], own) or \
                not near(agent["epsilon"], conversion(own ** 2 / 2, promise["delta"])[0]):
            say(f"agent {i} has another loss")
        if agent["rounds_charged"] > m["rounds"]:
            say(f"agent {i} is charged more rounds than promised")


def check_run(document, say):
    """Whose ledgers there are, and whether the schema is a draft."""
    run, agents = document["run"], document["agents"]
    known = sum(agent["ledger"] is not None for agent in agents)
    if document["version"] < 3:
        if {"drafted", "ledgers"} & set(run):
            say("fields of a later version")
        if known > 1 and known < len(agents):
            say("some ledgers are missing")
        return
    if run.get("ledgers") != {len(agents): "all", 0: "none"}.get(known, "own" if known == 1 else "?"):
        say("the ledgers are not those that run.ledgers names")
    drafts = [text for text in document["assumptions"] if "drafted from the records" in text]
    if run.get("drafted") not in (True, False) or len(drafts) != run["drafted"] or \
            run["drafted"] and run["schema"] is None:
        say("whether the schema is a draft is not said, or twice in different ways")


def check_ledgers(document, say):
    """The sums of what was charged, and that an account has one history without this run."""
    promise, histories = document["promise"], {}
    group = promise["group"] ** 2
    for agent in document["agents"]:
        ledger = agent["ledger"]
        if ledger is None:
            continue
        earlier = ledger["earlier"]
        runs = [charge["run"] for charge in earlier]
        if not ledger["account"] or document["run"]["id"] in runs or len(set(runs)) < len(runs):
            say("a run is listed twice, or an account has no name")
        if any(not charge["rounds"] and charge["run"].strip("0") for charge in earlier):
            say("a run of no round was charged")
        if histories.setdefault(ledger["account"], earlier) != earlier:
            say("one account has two histories")
        rate = agent["gdp_mu"] ** 2 / 2 / group + math.fsum(charge["renyi_rate"] for charge in earlier)
        if not near(ledger["renyi_rate"], rate) or \
                not near(ledger["epsilon"], conversion(group * rate, promise["delta"])[0]):
            say("a ledger's sum is another")


def canonical(value):
    """docs/privacy.md: one sequence of bytes for each JSON value."""
    if value is None:
        return b"n"
    if isinstance(value, bool):
        return b"t" if value else b"f"
    if isinstance(value, (int, float)):
        return b"d" + struct.pack("<d", value + 0.0)
    if isinstance(value, str):
        return b"s" + struct.pack("<Q", len(value.encode())) + value.encode()
    if isinstance(value, list):
        return b"a" + struct.pack("<Q", len(value)) + b"".join(map(canonical, value))
    names = sorted(value, key=str.encode)
    return b"o" + struct.pack("<Q", len(names)) + b"".join(
        canonical(name) + canonical(value[name]) for name in names)


def digest(purpose, value, *without):
    bare = {name: inner for name, inner in value.items() if name not in without}
    return hashlib.blake2b(purpose.encode() + b"\n" + canonical(bare), digest_size=32).hexdigest()


def model_digest(model, version=3):
    if version < 3:
        return digest("fedplt-model-1", model, "program", "training")
    record = {name: value for name, value in (model.get("training") or {}).items() if name != "privacy"}
    return digest("fedplt-model-2", {**model, "training": record}, "program")


def commitment(document):
    """What the model of a certificate names it by."""
    return digest("fedplt-certificate-3", document, "model", "signature")


def model_wrongs(document, model):
    """What contradicts that the certificate was made for the model; no schema is read here."""
    found, training = [], model.get("training") or {}
    if model_digest(model, document["version"]) != document["model"]["blake2b"]:
        found.append("the model is another one")
    if document["version"] >= 3 and training.get("certificate") != commitment(document):
        found.append("the model names another certificate")
    if (model["schema"] is None) != (document["run"]["schema"] is None):
        found.append("one of the two has a schema")
    m, problem, local = document["mechanism"], document["problem"], training.get("local", {})
    said = {name: training.get("problem", {}).get(name) for name in
            ("loss", "regulariser", "eps", "weights", "clip", "rows", "agents")}
    pairs = [(training.get("algorithm"), m["algorithm"]), (said["loss"], problem["loss"]),
             (model["loss"], problem["loss"]), (model["intercept"], problem["intercept"]),
             (said["regulariser"], problem["regulariser"]), (said["weights"], problem["weights"]),
             (said["eps"], problem["regulariser_weight"]), (said["clip"], problem["clip"]),
             (said["rows"], sum(agent["records"] for agent in document["agents"])),
             (said["agents"], len(document["agents"])), (local.get("tau"), weakest_tau(document)),
             (local.get("epochs"), m["epochs"]), (local.get("solver"), m["solver"]),
             (local.get("gamma", {}).get("least"), m["step"]), (local.get("gamma", {}).get("most"), m["step"])]
    for one, other in pairs:
        if one is not None and not (one == other if isinstance(one, (str, bool)) else near(one, other)):
            found.append(f"the record says {one}, the certificate {other}")
    if document["private"] and {"start", "end", "model", "held_out", "criterion", "accuracy"} & set(training):
        found.append("something was measured without noise")
    return found


def wrongs(document, validate):
    """`validate` raises where a document has not the form of the schema."""
    found = []
    try:
        validate(document, SCHEMA)
    except Exception as problem:  # whatever the validator raises
        return [f"form: {problem}".splitlines()[0]]
    if document["noise"] != SECURE or not document["private"]:
        found.append("not private")
    try:
        check_inputs(document, found.append)
        if not found:
            check_sums(document, found.append)
        if not found:
            check_unit(document, found.append)
            check_run(document, found.append)
            check_ledgers(document, found.append)
            check_promise(document, found.append)
    except (ArithmeticError, ValueError, KeyError) as problem:
        found.append(f"cannot be computed: {problem!r}")
    return found
