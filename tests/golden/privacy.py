"""Tables of the privacy mathematics, each value by the formula of its source in 50-digit arithmetic.

Theorems T and F, the paper's Prop. 4 as printed, the conversions to (epsilon, delta), subsampling,
random participation, binomial bounds; and runs on quadratics, whose distributions are known exactly.
Every input is the double that is printed, so that a program that reads it has the same number.
"""
import random

import mpmath
import numpy
from mpmath import mpf

mpmath.mp.dps = 50

# The orders at which accounting libraries look: 1.1 to 10.9, 11 to 63, and four large ones.
ORDERS = [1 + k / 10 for k in range(1, 100)] + list(range(11, 64)) + [128, 256, 512, 1024]
WHOLE_ORDERS = list(range(2, 65)) + [128, 256, 512, 1024]


# ---- conversions, D = mu^2 / 2 the rate of the Renyi divergence ----

def normal_tail(x):
    """P(X > x)."""
    return mpmath.erfc(x / mpmath.sqrt(2)) / 2


def gaussian_delta(mu, epsilon):
    """Phi(-eps/mu + mu/2) - e^eps Phi(-eps/mu - mu/2) [Balle and Wang 2018]."""
    return (normal_tail(epsilon / mu - mu / 2)
            - mpmath.exp(epsilon) * normal_tail(epsilon / mu + mu / 2))


def falling_root(function, low, high, halvings=100):
    """Where a falling function is 0, by halving; function(low) > 0 > function(high)."""
    for _ in range(halvings):
        middle = (low + high) / 2
        if function(middle) > 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def gaussian_epsilon(mu, delta):
    if mpmath.isinf(mu):
        return mpmath.inf
    if gaussian_delta(mu, mpf(0)) <= delta:
        return mpf(0)
    high = mpf(1)
    while gaussian_delta(mu, high) > delta:
        high *= 2
    return falling_root(lambda epsilon: gaussian_delta(mu, epsilon) - delta, mpf(0), high)


def classic(rate, delta):
    """The best order and epsilon of Mironov's conversion [2017]."""
    logarithm = -mpmath.log(delta)
    return 1 + mpmath.sqrt(logarithm / rate), rate + 2 * mpmath.sqrt(rate * logarithm)


def tight_at(order, divergence, delta):
    """[Canonne, Kamath and Steinke 2020, Prop. 12; Balle et al. 2020]"""
    order = mpf(order)
    return max(mpf(0), divergence + mpmath.log(1 - 1 / order)
               - (mpmath.log(delta) + mpmath.log(order)) / (order - 1))


def tight(rate, delta):
    """The best order solves D (a - 1)^2 + ln a = ln(1/delta)."""
    logarithm = -mpmath.log(delta)
    order = falling_root(lambda a: logarithm - rate * (a - 1) ** 2 - mpmath.log(a), mpf(1),
                         1 + mpmath.sqrt(logarithm / rate))
    return order, tight_at(order, rate * order, delta)


# ---- claims ----

def contraction(lmin, lmax, pull, gamma):
    return max(abs(1 - gamma * (lmin + pull)), abs(1 - gamma * (lmax + pull)))


def round_factor(c, epochs):
    """kappa = (sum c^l)^2 / sum c^2l, l = 0 .. Ne - 1: the sums themselves."""
    if c >= 1:
        return mpf(epochs)
    powers = [c ** l for l in range(epochs)]
    return mpmath.fsum(powers) ** 2 / mpmath.fsum(p * p for p in powers)


def theorem_f(dl, lmin, lmax, pull, gamma, epochs, rounds, tau):
    """a_K, b_K, and mu for the final x and for the final z or y."""
    c = contraction(lmin, lmax, pull, gamma)
    if c >= 1:
        return (mpmath.inf,) * 4
    chi = c ** epochs
    g = mpmath.fsum(c ** l for l in range(epochs))
    d = max(abs(pull - lmin), abs(pull - lmax))
    a = b = mpf(0)
    for _ in range(rounds):
        a, b = (chi * a + gamma * pull * g * b + gamma * dl * g,
                2 * chi * a + (chi + gamma * d * g) * b + 2 * gamma * dl * g)
    noise = mpmath.sqrt(2 * gamma * tau ** 2 * mpmath.fsum(c ** (2 * l) for l in range(epochs)))
    return a, b, a / noise, b / 2 / noise


def proposition_4(dl, lmin, tau, gamma, rounds, epochs):
    return dl ** 2 / (lmin * tau ** 2) * (1 - mpmath.exp(-lmin * gamma * rounds * epochs / 2))


# ---- tables ----

def text(value):
    if isinstance(value, (int, str)):
        return str(value)
    if isinstance(value, float):
        return repr(value)
    return mpmath.nstr(value, 17, strip_zeros=True)


def table(header, rows):
    return "\n".join([header] + [",".join(map(text, row)) for row in rows]) + "\n"


def analytic_gaussian():
    rows = []
    for mu in [0.001, 0.01, 0.1, 0.5, 1.0, 2 ** 0.5, 2.0, 10 ** 0.5, 5.0, 10.0, 30.0]:
        for epsilon in [0, 0.1, 1, 4, 20]:
            rows.append(["delta_of_eps", mu, epsilon, gaussian_delta(mpf(mu), mpf(epsilon))])
        for delta in [1e-3, 1e-5, 1e-9, 1e-15]:
            rows.append(["eps_of_delta", mu, delta, gaussian_epsilon(mpf(mu), mpf(delta))])
    return table("kind,mu,input,output", rows)


def fedplt_bounds():
    cases = [(2, 250, 0.5, 0.75, 1.0, 0.3, 5, 100, 0.05, 1e-5),
             (2, 250, 0.5, 0.75, 1.0, 0.6153846153846154, 5, 50, 0.02, 1e-5),
             (2, 250, 0.5, 1.75, 10.0, 0.5, 20, 30, 0.05, 1e-5),
             (2, 1000, 0.1, 2.5, 1.0, 0.2, 10, 50, 0.02, 1e-5),
             (1, 100, 1.0, 1.0, 1.0, 0.5, 7, 3, 0.05, 1e-5),
             (1, 100, 1.0, 1.25, 1.0, 0.8711111111111111, 100, 1, 0.02, 1e-5),
             (10, 5000, 0.001, 0.5, 5.0, 0.2, 5, 500, 0.05, 1e-5),
             (2, 60000, 0.0001, 0.25, 1.0, 1.0, 10, 1000, 0.02, 1e-5),
             (2, 250, 0.5, 0.75, 1.0, 1.2, 5, 20, 0.05, 1e-5),
             (3, 300, 0.25, 4.0, 0.25, 0.125, 16, 64, 0.02, 1e-5),
             (2, 10000, 0.05, 1.0, 1.0, 0.4, 20, 20, 0.05, 1e-5)]
    draw = random.Random(1)
    for _ in range(14):
        lmin = round(10 ** -(3 * draw.random()), 4)
        lmax = round(lmin * (1 + 20 * draw.random()), 4)
        rho = round(10 ** (2 * draw.random() - 1), 3)
        gamma = round((0.05 + 1.05 * draw.random()) * 2 / (lmax + 1 / rho), 4)
        cases.append((1 + int(4 * draw.random()), 10 + int(3000 * draw.random()), lmin, lmax, rho,
                      gamma, 1 + int(30 * draw.random()), 1 + int(90 * draw.random()),
                      round(0.01 + 0.3 * draw.random(), 3), 10.0 ** -int(3 + 6 * draw.random())))
    rows = []
    for case in cases:
        length, records, lmin, lmax, rho, gamma, epochs, rounds, tau, delta = \
            [mpf(v) if isinstance(v, float) else v for v in case]
        dl = mpf(length) / records
        c = contraction(lmin, lmax, 1 / rho, gamma)
        kappa = round_factor(c, epochs)
        step = mpmath.sqrt(gamma * dl ** 2 / (2 * tau ** 2))
        whole = step * mpmath.sqrt(kappa * rounds)
        stepwise = step * mpmath.sqrt(epochs * rounds)
        rate = whole ** 2 / 2
        a, b, final_x, final_y = theorem_f(dl, lmin, lmax, 1 / rho, gamma, epochs, rounds, tau)
        rows.append([*case, c, kappa, step, step * mpmath.sqrt(kappa), whole, stepwise, rate,
                     *classic(rate, delta), *tight(rate, delta), gaussian_epsilon(whole, delta),
                     gaussian_epsilon(stepwise, delta), a, b, final_x, final_y,
                     gaussian_epsilon(min(final_x, whole), delta),
                     gaussian_epsilon(min(final_y, whole), delta)])
    return table("L,q,lmin,lmax,rho,gamma,Ne,K,tau,delta,c,kappa,mu_step,mu_round,"
                 "mu_transcript_K_rounds,mu_transcript_stepwise,B_transcript=rdp/alpha,"
                 "alpha_opt_classic,eps_transcript_classic,alpha_opt_cks,eps_transcript_cks,"
                 "eps_transcript_exact_gaussian,eps_transcript_stepwise_exact_gaussian,thmF_a_K,"
                 "thmF_b_K,thmF_mu_final_x,thmF_mu_final_zy,eps_final_x=min(thmF;transcript),"
                 "eps_final_zy=min(thmF;transcript)", rows)


def prop4_closed_form():
    cases = [(2, 250, 0.5, 0.05, 0.3, 100, 5, 1e-5), (2, 250, 0.5, 1.0, 0.3, 100, 5, 1e-5),
             (2, 1000, 0.1, 0.02, 0.5, 50, 10, 1e-6), (1, 100, 1.0, 0.1, 0.1, 1, 100, 1e-5),
             (4, 500, 0.01, 0.05, 0.9, 200, 2, 1e-6), (1, 50, 2.0, 0.3, 0.05, 40, 8, 1e-4),
             (2, 250, 0.5, 0.001, 0.3, 100, 5, 1e-5), (1, 1, 1.0, 1.0, 1.0, 1, 1, 1e-3),
             (3, 300, 0.25, 0.2, 0.125, 64, 16, 1e-9), (2, 10000, 0.05, 0.005, 0.4, 20, 20, 1e-6),
             (2, 250, 0.5, 0.2, 0.3, 1000000, 5, 1e-5)]
    rows = []
    for case in cases:
        length, records, lmin, tau, gamma, rounds, epochs, delta = map(mpf, case)
        rate = proposition_4(length / records, lmin, tau, gamma, rounds, epochs)
        rows.append([*case, rate, 2 * rate, 8 * rate, 32 * rate, *classic(rate, delta),
                     *tight(rate, delta)])
    return table("L,q,lmin,tau,gamma,K,Ne,delta,B=rdp/alpha,rdp_alpha2,rdp_alpha8,rdp_alpha32,"
                 "alpha_opt_classic,eps_classic_mironov,alpha_opt_cks,eps_cks", rows)


def full_batch():
    """The Gaussian mechanism `steps` times, at the orders that accounting libraries try."""
    rows = []
    for multiplier, steps, delta in [
            (0.5, 1, 1e-5), (1.0, 1, 1e-6), (1.1, 100, 1e-5), (2.0, 50, 1e-6), (4.0, 100, 1e-5),
            (10.0, 100, 1e-5), (20.0, 1000, 1e-5), (50.0, 100, 1e-5), (100.0, 1000, 1e-8),
            (3.0, 30, 1e-3)]:
        rate = steps / mpf(multiplier) ** 2 / 2
        epsilon, order = min((tight_at(a, a * rate, mpf(delta)), a) for a in ORDERS)
        old = min(a * rate - mpmath.log(mpf(delta)) / (mpf(a) - 1) for a in ORDERS)
        rows.append([multiplier, steps, delta, epsilon, order, old,
                     gaussian_epsilon(mpmath.sqrt(2 * rate), mpf(delta))])
    return table("noise_multiplier,steps,delta,eps_rdp_google_orders,opt_order,"
                 "eps_rdp_classic_mironov_google_orders,eps_exact_gaussian", rows)


def sampled_divergence(rate, multiplier, order):
    """The sampled Gaussian at a whole order [Mironov, Talwar and Zhang 2019, 3.3]:
    sum over k of C(a, k) (1 - q)^(a - k) q^k exp(k (k - 1) / (2 s^2)), each term from the last."""
    odds, grow = mpf(rate) / (1 - mpf(rate)), mpmath.exp(1 / mpf(multiplier) ** 2)
    term = total = (1 - mpf(rate)) ** order
    factor = mpf(1)
    for k in range(order):
        term *= odds * (order - k) / (k + 1) * factor
        factor *= grow
        total += term
    return mpmath.log(total) / (order - 1)


def poisson_minibatch():
    rows = []
    for multiplier, steps, rate, delta in [
            (0.7, 1000, 0.01, 1e-5), (1.0, 100, 0.1, 1e-5), (1.0, 10000, 0.001, 1e-6),
            (1.1, 14062, 0.00426666666667, 1e-5), (1.5, 200, 0.25, 1e-5), (2.0, 1000, 0.1, 1e-6),
            (2.0, 50, 0.2, 1e-5), (4.0, 10000, 0.01, 1e-8), (5.0, 1000, 0.2, 1e-5),
            (10.0, 5000, 0.1, 1e-5), (20.0, 1000, 0.5, 1e-5), (1.2, 60, 0.0625, 1e-3),
            (50.0, 20000, 0.05, 1e-5)]:
        epsilon, order = min(
            (tight_at(a, steps * sampled_divergence(rate, multiplier, a), mpf(delta)), a)
            for a in WHOLE_ORDERS)
        rows.append([multiplier, steps, rate, delta, epsilon, order])
    return table("noise_multiplier,steps,sampling_rate,delta,"
                 "eps_rdp_google_INTEGER_orders(2..64;128;256;512;1024),opt_int_order", rows)


def poisson_rdp_exact():
    """By quadrature of the density, which knows nothing of binomials."""
    rows = []
    mpmath.mp.dps = 25
    for rate, multiplier, orders in [
            (0.01, 1.0, (2, 3, 8, 32)), (0.1, 1.0, (16,)), (0.1, 2.0, (2, 3, 8, 32)),
            (0.5, 2.0, (16,)), (0.02, 0.8, (2, 3, 8, 32)), (0.25, 1.5, (16,)),
            (0.9, 2.0, (2, 3, 8, 32)), (0.001, 1.0, (16,)), (0.05, 5.0, (2, 3, 8, 32))]:
        q, sigma = mpf(rate), mpf(multiplier)
        for order in orders:
            # the trapezoidal rule converges faster than any power on such a function; its
            # mass lies about 0 .. order
            step, total, x = sigma / 5, mpf(0), -14 * sigma
            while x < order + 14 * sigma:
                ratio = 1 - q + q * mpmath.exp((2 * x - 1) / (2 * sigma ** 2))
                total += mpmath.npdf(x, 0, sigma) * ratio ** order
                x += step
            value = mpmath.log(step * total) / (order - 1)
            rows.append([rate, multiplier, float(order), value])
    mpmath.mp.dps = 50
    return table("sampling_rate,noise_multiplier,alpha,exact_quadrature_mpmath", rows)


def participation():
    """A round's mechanism with probability p, known afterwards: a mixture over how often."""
    rows = []
    for mu, rounds, probability, delta in [(0.1, 100, 0.5, 1e-5), (0.3, 20, 0.25, 1e-5),
                                           (0.05, 200, 0.9, 1e-5)]:
        m, p = mpf(mu), mpf(probability)
        divergences = [rounds * mpmath.log(1 - p + p * mpmath.exp(mpf(a * (a - 1)) * m ** 2 / 2))
                       / (a - 1) for a in (2, 8, 32)]
        chance = [mpmath.binomial(rounds, k) * p ** k * (1 - p) ** (rounds - k)
                  for k in range(rounds + 1)]

        def excess(epsilon):
            return mpmath.log(mpmath.fsum(
                chance[k] * gaussian_delta(m * mpmath.sqrt(k), epsilon)
                for k in range(1, rounds + 1) if chance[k] > 1e-30) / mpf(delta))
        mpmath.mp.dps = 22
        mixture = mpmath.findroot(excess, (mpf(1), mpf(5)), solver="illinois", tol=1e-38)
        mpmath.mp.dps = 50
        rows.append([mu, rounds, probability, *divergences, delta, mpf(mixture),
                     gaussian_epsilon(m * mpmath.sqrt(rounds), mpf(delta))])
    return table("mu_round,K,p,rdp_alpha2,rdp_alpha8,rdp_alpha32,delta,eps_mixture_exact,"
                 "eps_if_always_active", rows)


def binomial_tail(least, trials, p):
    """P(X >= least), by its terms from the first on, or from the other side where that is shorter."""
    if least <= 0 or p >= 1:
        return mpf(1)
    if trials * p > least:
        return 1 - binomial_tail(trials - least + 1, trials, 1 - p)
    term = mpmath.binomial(trials, least) * p ** least * (1 - p) ** (trials - least)
    total, k = mpf(0), least
    while term > total * 1e-30:
        total += term
        term *= (trials - k) * p / ((k + 1) * (1 - p))
        k += 1
    return total


def clopper_pearson():
    """One-sided bounds: the p at which what was seen, or worse, has probability 1 - confidence."""
    rows = []
    for hits, trials, confidence in [(0, 1000, 0.95), (3, 1000, 0.95), (500, 1000, 0.975),
                                     (1000, 1000, 0.95), (1234, 10000, 0.999), (1, 2, 0.9),
                                     (0, 1, 0.5), (7, 20, 1 - 1e-6), (199, 200, 0.99)]:
        doubt, ends = 1 - mpf(confidence), (mpf(0), mpf(1))
        low = falling_root(lambda p: doubt - binomial_tail(hits, trials, p), *ends) \
            if hits else mpf(0)
        high = falling_root(lambda p: 1 - doubt - binomial_tail(hits + 1, trials, p), *ends) \
            if hits < trials else mpf(1)
        rows.append([hits, trials, confidence, low, high])
    return table("k,n,one_sided_conf,lower,upper", rows)


# ---- quadratics ----

def divergence(seen):
    """Half the squared length of the shift after whitening; rows of `seen` are (shift, normals)."""
    seen = numpy.array(seen)
    triangle = numpy.linalg.qr(seen[:, 1:].T, mode="r")
    white = numpy.linalg.solve(triangle.T, seen[:, 0])
    return float(white @ white / 2)


def quadratic_run(hessians, rho, gamma, epochs, rounds, at_x, common, variance):
    """x, z, y of every round as (shift of the mean, coefficients of independent normals): one normal
    for each start and each local step, dl = tau = 1, the first agent's data are changed."""
    count = len(hessians)
    width = 1 + count + rounds * count * epochs
    x, z = numpy.zeros((count, width)), numpy.zeros((count, width))
    for i in range(count):
        x[i, 1 + i] = variance ** 0.5
    if at_x:
        z = x.copy()
    history, used = [(x.copy(), z.copy(), common * z.mean(axis=0))], 1 + count
    for _ in range(rounds):
        y = common * z.mean(axis=0)
        for i, hessian in enumerate(hessians):
            centre = 2 * y - z[i]
            for _ in range(epochs):
                x[i] = x[i] - gamma * (hessian * x[i] + (x[i] - centre) / rho)
                x[i, 0] += gamma if i == 0 else 0
                x[i, used] += (2 * gamma) ** 0.5
                used += 1
            z[i] = z[i] + 2 * (x[i] - y)
        history.append((x.copy(), z.copy(), common * z.mean(axis=0)))
    return history


def exact_quadratic_cases():
    rows = []
    for hessians, rho, gamma, epochs, rounds, start, variance in [
            ("1", 1.0, 0.5, 5, 10, "zero", 2), (" ".join("1" * 10), 0.1, 0.09, 5, 10, "zero", 2),
            ("1 5 10", 1.0, 0.17, 1, 10, "zero", 2), ("0.5 1.75", 1.0, 0.4705882, 5, 20, "zero", 4),
            ("2 1", 0.5, 0.25, 2, 3, "x0", 2), ("1 1", 1.0, 0.95, 1, 2, "zero", 2),
            ("1 100 100 100", 0.1, 0.018, 5, 10, "zero", 2),
            (" ".join("1" * 8), 1.0, 0.4, 3, 6, "zero", 2),
            ("1 10", 30.0, 0.1, 20, 10, "zero", 2), ("1 1 1", 1.0, 0.6733, 1, 20, "zero", 2)]:
        curvature = [float(word) for word in hessians.split()]
        at_x = start == "x0"
        history = quadratic_run(curvature, rho, gamma, epochs, rounds, at_x, 1.0, variance)
        x, z, y = history[-1]
        broadcasts = [h[2] for h in history[0 if at_x else 1:]]
        other = ""
        if len(curvature) > 1:
            # an agent sees the broadcasts and all it did itself
            own = [history[0][0][1]] + ([history[0][2]] if at_x else [])
            other = divergence(own + [v for h in history[1:] for v in (h[0][1], h[2])])
        low, high = mpf(min(curvature)), mpf(max(curvature))
        c = contraction(low, high, 1 / mpf(rho), mpf(gamma))
        transcript = rounds * mpf(gamma) / 4 * round_factor(c, epochs)
        _, _, final_x, final_y = theorem_f(mpf(1), low, high, 1 / mpf(rho), mpf(gamma), epochs,
                                           rounds, mpf(1))
        rows.append([hessians, rho, gamma, epochs, rounds, start, 1.0, variance, divergence(x[:1]),
                     divergence(x), divergence(z[:1]), divergence([y]),
                     divergence([x.mean(axis=0)]),
                     divergence([v for h in history[1:] for v in h[1]]), divergence(broadcasts),
                     other, proposition_4(mpf(1), low, mpf(1), mpf(gamma), rounds, epochs),
                     transcript, final_x ** 2 / 2, final_y ** 2 / 2])
    return table("hessians(victim first),rho,gamma,Ne,K,z0,s(y=s*mean z),x0_var,D_xiK,D_XK_joint,"
                 "D_ziK,D_y_final,D_xbar,D_transcript_all_z,D_y_transcript,"
                 "D_y_transcript_seen_by_agent,prop4,K_round_bound,thmF_x,thmF_zy", rows)


FILES = {
    "analytic_gaussian.csv": analytic_gaussian,
    "clopper_pearson_one_sided.csv": clopper_pearson,
    "exact_quadratic_cases.csv": exact_quadratic_cases,
    "fedplt_bounds.csv": fedplt_bounds,
    "full_batch.csv": full_batch,
    "participation.csv": participation,
    "poisson_minibatch.csv": poisson_minibatch,
    "poisson_rdp_exact.csv": poisson_rdp_exact,
    "prop4_closed_form.csv": prop4_closed_form,
}
