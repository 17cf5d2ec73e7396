"use strict";
const at = id => document.getElementById(id);
const bytes = n => {
  let i = 0;
  while (n >= 1000 && i < 4) { n /= 1000; i++; }
  return (i ? n.toFixed(1) : n) + "\u00a0" + ["B", "kB", "MB", "GB", "TB"][i];
};
const ago = s => s === undefined ? "never" : s < 1.5 ? "now" : s < 90 ? Math.round(s) + " s ago" : Math.round(s / 60) + " min ago";
const chart = new Chart(at("curve"), {
  type: "line",
  data: { datasets: [{ label: "criterion", data: [], borderColor: "#38c", borderWidth: 2, pointRadius: 0 }] },
  options: {
    animation: false, maintainAspectRatio: false, parsing: false,
    plugins: { legend: { display: false } },
    scales: {
      x: { type: "linear", title: { display: true, text: "round" }, ticks: { precision: 0 } },
      y: { type: "logarithmic", title: { display: true, text: "criterion" }, ticks: { callback: v => v.toExponential(0), maxTicksLimit: 8 } },
    },
  },
});

const states = {
  forming: "waiting for agreement to the proposal", planned: "waiting for agreement to the plan", round: "training",
  repair: "repair: waiting for the vectors of all members", halted: "halted: nothing is sent",
};
const epsilon = e => e === undefined ? "" : e.toPrecision(3);

function row(member, promised) {
  const line = document.createElement("tr");
  const cells = [[member.name], [member.state, member.state], [ago(member.seen)], [member.version],
    [member.records ?? "", "wide"], [member.repairs ?? "", "wide"]];
  if (promised) cells.splice(4, 0, [epsilon(member.epsilon)]);
  for (const [text, name] of cells) {
    const cell = document.createElement("td");
    cell.textContent = text;
    cell.className = name ?? "";
    line.append(cell);
  }
  return line;
}

// what the worst-off member has spent, of what the run may cost
function showPrivacy(s) {
  const spent = Math.max(0, ...s.members.map(m => m.epsilon ?? 0));
  at("spent").textContent = s.privacy ? "privacy: ε spent" : "privacy";
  at("privacy").textContent = !s.privacy ? "off" :
    epsilon(spent) + (s.privacy.epsilon ? " of " + s.privacy.epsilon : "");
  at("each").hidden = at("quiet").hidden = !s.privacy;
  at("chart").hidden = at("measured").hidden = !!s.privacy || !!s.analysis;
}

// held-out rows, and why there are no standard errors
function findings(s) {
  const h = s.held_out;
  return (h ? `; ${h.rows} held-out rows: loss ${h.loss.toPrecision(4)}` +
    (h.accuracy === null ? "" : `, accuracy ${(100 * h.accuracy).toFixed(1)} %`) : "") +
    (s.validation ? `; validation: ${s.validation.done} of ${s.validation.fits} fits` +
      (s.validation.part ? `, this is ${s.validation.part}` : "") : "") +
    (s.errors_withheld ? "; " + s.errors_withheld : "");
}

function show(s) {
  const analysis = s.analysis;
  at("title").textContent = `${s.federation}, ${analysis ? "analysis" : "run"} ${s.run}` +
    (s.algorithm ? `: ${s.algorithm}` : analysis ? `: ${analysis.kind}` : "");
  const result = analysis?.text ?? s.validation?.text ?? "";
  at("result").textContent = result;
  at("result").hidden = !result;
  at("rounds").hidden = !!analysis;
  at("coming").textContent = analysis ? "sites that answered" : "updates in this round";
  at("sentence").textContent = (s.paused ? "paused" : states[s.state] ?? s.state) + (s.sentence ? ": " + s.sentence : "") +
    (s.waiting ? "; " + s.waiting : "") + findings(s) +
    (analysis ? `; ${analysis.answered} of ${analysis.members} sites answered` : "") +
    (s.secure ? `; secure aggregation: sum of ${s.received} of ${s.cohort}` +
      (s.secure.void ? `, ${s.secure.void} void rounds` : "") : "");
  at("round").textContent = s.rounds ? `${s.round} / ${s.rounds}` : s.round;
  at("updates").textContent = analysis ? `${analysis.answered} / ${analysis.members}` : `${s.received} / ${s.cohort}`;
  const criterion = s.criterion ?? s.curve.at(-1)?.[1];
  at("criterion").textContent = criterion === undefined ? "–" : criterion.toExponential(3);
  showPrivacy(s);
  at("bytes").textContent = `${bytes(s.bytes_up)} / ${bytes(s.bytes_down)}`;
  at("refused").textContent = s.refused;
  at("members").replaceChildren(...s.members.map(m => row(m, !!s.privacy)));
  chart.data.datasets[0].data = s.curve.filter(p => p[1] > 0).map(p => ({ x: p[0], y: p[1] }));
  chart.update();
}

async function look() {
  try {
    show(await (await fetch("/status.json")).json());
  } catch {
    at("sentence").textContent = "the coordinator does not answer";
  }
  setTimeout(look, 1000);
}
look();
