"""Sessions of secure aggregation, computed with nothing but integers and hashlib: X25519 (RFC 7748), Ed25519 (RFC 8032),
ChaCha20 with a nonce of 8 bytes, XSalsa20-Poly1305, Shamir shares over the order of Ristretto255."""
import hashlib
import json
import struct

P = 2 ** 255 - 19
ORDER = 2 ** 252 + 27742317777372353535851937790883648493


# ---- primitives ----

def blake(label, data=b"", key=b"", size=32):
    return hashlib.blake2b(bytes([len(label)]) + label + data, key=key, digest_size=size).digest()


def x25519(secret, point):
    scalar = int.from_bytes(secret, "little") & ~7 & ~(128 << 8 * 31) | 64 << 8 * 31
    x1 = int.from_bytes(point, "little") & ~(1 << 255)
    x2, z2, x3, z3, swapped = 1, 0, x1, 1, 0
    for t in range(254, -1, -1):
        bit = scalar >> t & 1
        if swapped ^ bit:
            x2, z2, x3, z3 = x3, z3, x2, z2
        swapped = bit
        a, b, c, d = x2 + z2, x2 - z2, x3 + z3, x3 - z3
        da, cb = d * a, c * b
        x3, z3 = (da + cb) ** 2 % P, x1 * (da - cb) ** 2 % P
        aa, bb = a * a, b * b
        x2, z2 = aa * bb % P, (aa - bb) * (aa + 121665 * (aa - bb)) % P
    if swapped:
        x2, z2 = x3, z3
    return (x2 * pow(z2, P - 2, P) % P).to_bytes(32, "little")


D = -121665 * pow(121666, P - 2, P) % P
ROOT = pow(2, (P - 1) // 4, P)


def add(p, q):
    (x1, y1, z1, t1), (x2, y2, z2, t2) = p, q
    a, b = (y1 - x1) * (y2 - x2) % P, (y1 + x1) * (y2 + x2) % P
    c, d = 2 * t1 * t2 * D % P, 2 * z1 * z2 % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P


def times(scalar, point):
    result = (0, 1, 1, 0)
    while scalar:
        if scalar & 1:
            result = add(result, point)
        point = add(point, point)
        scalar >>= 1
    return result


def base_point():
    y = 4 * pow(5, P - 2, P) % P
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if x * x % P != square:
        x = x * ROOT % P
    x = P - x if x & 1 else x
    return x, y, 1, x * y % P


BASE = base_point()


def compress(point):
    x, y, z, _ = point
    inverse = pow(z, P - 2, P)
    return (y * inverse % P | (x * inverse % P & 1) << 255).to_bytes(32, "little")


def ed25519(seed):
    """Secret scalar, prefix and public key."""
    digest = hashlib.sha512(seed).digest()
    scalar = int.from_bytes(digest[:32], "little") & ~7 & ~(1 << 255) | 1 << 254
    return scalar, digest[32:], compress(times(scalar, BASE))


def sign(seed, text):
    scalar, prefix, public = ed25519(seed)
    r = int.from_bytes(hashlib.sha512(prefix + text).digest(), "little") % ORDER
    point = compress(times(r, BASE))
    k = int.from_bytes(hashlib.sha512(point + public + text).digest(), "little") % ORDER
    return point + ((r + k * scalar) % ORDER).to_bytes(32, "little")


def rotate(x, n):
    return (x << n | x >> 32 - n) & 0xffffffff


def chacha20(key, length):
    out = b""
    for block in range((length + 63) // 64):
        start = list(struct.unpack("<4I", b"expand 32-byte k") + struct.unpack("<8I", key) +
                     (block & 0xffffffff, block >> 32, 0, 0))
        s = start[:]
        for turn in range(20):
            columns = ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15))
            diagonals = ((0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14))
            for a, b, c, d in diagonals if turn % 2 else columns:
                for into, other, target, n in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
                    s[into] = s[into] + s[other] & 0xffffffff
                    s[target] = rotate(s[target] ^ s[into], n)
        out += struct.pack("<16I", *(x + y & 0xffffffff for x, y in zip(s, start)))
    return out[:length]


def salsa(state):
    s = list(state)
    for turn in range(20):
        columns = ((0, 4, 8, 12), (5, 9, 13, 1), (10, 14, 2, 6), (15, 3, 7, 11))
        rows = ((0, 1, 2, 3), (5, 6, 7, 4), (10, 11, 8, 9), (15, 12, 13, 14))
        for a, b, c, d in rows if turn % 2 else columns:
            s[b] ^= rotate(s[a] + s[d] & 0xffffffff, 7)
            s[c] ^= rotate(s[b] + s[a] & 0xffffffff, 9)
            s[d] ^= rotate(s[c] + s[b] & 0xffffffff, 13)
            s[a] ^= rotate(s[d] + s[c] & 0xffffffff, 18)
    return s


def salsa_state(key, middle):
    c, k = struct.unpack("<4I", b"expand 32-byte k"), struct.unpack("<8I", key)
    m = struct.unpack("<4I", middle)
    return [c[0], *k[:4], c[1], *m, c[2], *k[4:], c[3]]


def secretbox(key, text):
    """Under nonce 0: tag, then the text encrypted."""
    mixed = salsa(salsa_state(key, bytes(16)))
    inner = struct.pack("<8I", *(mixed[k] for k in (0, 5, 10, 15, 6, 7, 8, 9)))
    stream = b""
    for block in range(2):
        state = salsa_state(inner, bytes(8) + struct.pack("<Q", block))
        stream += struct.pack("<16I", *(x + y & 0xffffffff for x, y in zip(salsa(state), state)))
    sealed = bytes(a ^ b for a, b in zip(text, stream[32:]))
    r = int.from_bytes(stream[:16], "little") & 0x0ffffffc0ffffffc0ffffffc0fffffff
    total = 0
    for k in range(0, len(sealed), 16):
        total = (total + int.from_bytes(sealed[k:k + 16] + b"\1", "little")) * r % (2 ** 130 - 5)
    tag = (total + int.from_bytes(stream[16:32], "little")) % 2 ** 128
    return tag.to_bytes(16, "little") + sealed


# ---- a session ----

def u32(x):
    return struct.pack("<I", x)


def bitmap(members, count):
    out = bytearray((count + 7) // 8)
    for i in members:
        out[i // 8] |= 1 << i % 8
    return bytes(out)


class Session:
    """Everything that is said in one session; `given` has the numbers that decide it."""

    def __init__(self, given):
        self.g = given
        g, n = given, given["agents"]
        self.plan = bytes.fromhex(g["plan"])
        seeds = [bytes.fromhex(x) for x in g["identity_seeds"]]
        self.seeds = seeds
        self.roots = [bytes.fromhex(x) for x in g["roots"]]
        self.secret = [blake(b"x25519", key=root) for root in self.roots]
        nine = bytes([9]) + bytes(31)
        self.public = [x25519(s, nine) for s in self.secret]
        self.identities = [ed25519(s)[2] for s in seeds]
        self.signatures = [sign(seeds[i], b"fedplt-secagg-1 key\n" + self.plan + u32(i) + self.public[i])
                           for i in range(n)]
        there = [bytes(32) if i in g["absent"] else self.public[i] for i in range(n)]
        self.keys = blake(b"keys", self.plan + u32(n) + b"".join(there))
        self.session = blake(b"session", self.keys + bytes([g["kind"], g["exchange"]]) + u32(g["leg"]) +
                             struct.pack("<Q", g["round"]) + u32(n) + bitmap(g["cohort"], n) +
                             bytes.fromhex(g["down_digest"]))
        self.left = [i for i in g["cohort"] if i not in g["gone"]]
        self.own = {i: blake(b"own", self.session, self.roots[i]) for i in g["cohort"]}
        self.shared = {}

    def pair(self, i, j):
        a, b = min(i, j), max(i, j)
        if (a, b) not in self.shared:
            self.shared[a, b] = blake(b"pair", self.keys + u32(a) + u32(b), x25519(self.secret[a], self.public[b]))
        return self.shared[a, b]

    def seed(self, i, j):
        return blake(b"mask", self.session, self.pair(i, j))

    def polynomial(self, i):
        wide = [blake(b"self", b"", self.own[i], 64)]
        wide += [blake(b"coefficient", u32(m), self.own[i], 64) for m in range(1, self.g["threshold"])]
        return [int.from_bytes(x, "little") % ORDER for x in wide]

    def scalar(self, i):
        return self.polynomial(i)[0].to_bytes(32, "little")

    def share(self, i, j):
        return (sum(c * pow(j + 1, m, ORDER) for m, c in enumerate(self.polynomial(i))) % ORDER).to_bytes(32, "little")

    def box(self, i, j):
        return secretbox(blake(b"box", self.session + u32(i) + u32(j), self.pair(i, j)), self.share(i, j))

    def tag(self, i, j):
        return blake(b"tag", self.session + u32(i) + u32(j), self.share(i, j))[:16]

    def numbers(self, seed):
        width, count = self.g["width"], self.g["count"]
        stream = chacha20(seed, width * count)
        return [int.from_bytes(stream[width * k:width * (k + 1)], "little") for k in range(count)]

    def upload(self, i):
        g = self.g
        total = [int(x) for x in g["messages"][str(i)]]
        out = self.session
        if g["threshold"]:
            out += blake(b"commit", self.session + u32(i), self.scalar(i))
            out += b"".join(self.box(i, j) + self.tag(i, j) for j in g["cohort"] if j != i)
            mine = self.numbers(blake(b"self-mask", self.session + u32(i), self.scalar(i)))
            total = [a + b for a, b in zip(total, mine)]
        for j in g["cohort"]:
            if j != i:
                sign_of = 1 if j > i else -1
                total = [a + sign_of * b for a, b in zip(total, self.numbers(self.seed(i, j)))]
        return out + b"".join((x % 256 ** g["width"]).to_bytes(g["width"], "little") for x in total)

    def vote(self, i):
        return sign(self.seeds[i], b"fedplt-secagg-1 vote\n" + self.session + bitmap(self.left, self.g["agents"]))

    def final(self, j):
        whole = self.left == self.g["cohort"]
        voters = [] if whole else self.left[:self.g["threshold"]]
        return (self.session + bitmap(self.left, self.g["agents"]) + u32(len(voters)) +
                b"".join(u32(i) + self.vote(i) for i in voters) +
                b"".join(self.box(i, j) for i in self.left if i != j))

    def said(self):
        """What a file of vectors has of it."""
        g, whole = self.g, self.left == self.g["cohort"]
        quorum = g["threshold"] > 0
        first, second = g["pair"]["members"] if "pair" in g else g["cohort"][:2]
        hexed = lambda values: {str(i): value.hex() for i, value in values}
        there = lambda values: [bytes(len(x)).hex() if i in g["absent"] else x.hex() for i, x in enumerate(values)]
        return dict(g, identities=[x.hex() for x in self.identities], x25519_secret=[x.hex() for x in self.secret],
                    x25519_public=there(self.public), key_signatures=there(self.signatures),
                    own=hexed(self.own.items()), keys=self.keys.hex(), session=self.session.hex(),
                    pair={"members": [first, second], "pair": self.pair(first, second).hex(),
                          "seed": self.seed(first, second).hex(),
                          "mask": chacha20(self.seed(first, second), 2 * g["width"]).hex()},
                    self_scalar=hexed((i, self.scalar(i)) for i in g["cohort"] if quorum),
                    upload=hexed((i, self.upload(i)) for i in self.left),
                    seeds=hexed((i, self.session + b"".join(self.seed(i, j) for j in g["gone"]))
                                for i in self.left if quorum and not whole),
                    votes=hexed((i, self.session + self.vote(i)) for i in self.left if quorum and not whole),
                    final_to_first=self.final(self.left[0]).hex() if quorum else "",
                    shares=hexed((j, self.session + b"".join(self.share(i, j) for i in self.left))
                                 for j in self.left if quorum and j not in g["silent"]),
                    sum=[str(sum(int(g["messages"][str(i)][k]) for i in self.left)) for k in range(g["count"])])


def invented(name, number, agents, threshold, cohort, width, kind=1, absent=(), gone=(), silent=(), count=3):
    """A session whose secrets are hashes of its name."""
    secret = lambda what, i: hashlib.blake2b(f"{name} {what} {i}".encode(), digest_size=32).hexdigest()
    bound = 2 ** 40 if width == 8 else 2 ** 100
    message = lambda i, k: str(int(secret(f"message {k}", i), 16) % (2 * bound) - bound)
    return {"name": name, "agents": agents, "threshold": threshold, "most": len(cohort), "colluders": 1, "width": width,
            "kind": kind, "exchange": 0, "leg": number, "round": 5 + number, "cohort": list(cohort),
            "absent": list(absent), "gone": list(gone), "silent": list(silent), "count": count,
            "plan": secret("plan", 0), "down_digest": secret("digest", 0),
            "identity_seeds": [secret("identity", i) for i in range(agents)],
            "roots": [secret("root", i) for i in range(agents)],
            "messages": {str(i): [message(i, k) for k in range(count)] for i in cohort}}


def sessions():
    made = [invented("all", 0, 3, 0, range(3), 16, kind=4),
            invented("whole cohort", 1, 3, 2, range(3), 8, count=70),
            invented("one gone, one silent", 2, 9, 4, (0, 2, 3, 6, 7, 8), 8, absent=(5,), gone=(3,), silent=(8,))]
    text = json.dumps({"format": "fedplt-secagg-1", "scenarios": [Session(given).said() for given in made]}, indent=0)
    return text + "\n"


FILES = {"secagg.json": sessions}


def disagreements(text):
    """Where another program's sessions differ from what this one makes of the same numbers."""
    return [f"{theirs['name']}: {name}" for theirs in json.loads(text)["scenarios"]
            for name, value in Session(theirs).said().items() if theirs[name] != value]
