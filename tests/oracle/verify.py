"""A second verifier of privacy certificates, written from docs/privacy.md and the schema alone.

wrongs(document) lists what does not follow from the document's own inputs; an empty list means that
the claim holds. It knows the mathematics and not the program: sums are added up term by term, the
conversion searches the order on a line.
"""
import json
import math
import pathlib

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


def loss_of(document, steps, agent, rounds):
    """mu of one agent when so many rounds are charged, and the theorem it comes from."""
    m, agents = document["mechanism"], document["agents"]
    gap = m["sensitivity"] * weights(document)[agent] / agents[agent]["records"]
    messages = steps.step(gap, agent) * math.sqrt(steps.kappa() * rounds)
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
    if m["contraction"] != (bends_not and m["solver"] == "noisy" and low + m["inverse_rho"] > 0):
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
    epsilon, order = conversion(mu ** 2 / 2, promise["delta"])
    for name, found in [("gdp_mu", mu), ("renyi_rate", mu ** 2 / 2), ("epsilon", epsilon),
                        ("kappa", steps.kappa()), ("mu_step", steps.step(gap, worst)),
                        ("mu_round", steps.step(gap, worst) * math.sqrt(steps.kappa())),
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
            check_unit(document, found.append)
            check_promise(document, found.append)
    except (ArithmeticError, ValueError, KeyError) as problem:
        found.append(f"cannot be computed: {problem!r}")
    return found
