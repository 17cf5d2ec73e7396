"use strict";
const at = id => document.getElementById(id);
const bytes = n => {
  let i = 0;
  while (n >= 1000 && i < 4) { n /= 1000; i++; }
  return (i ? n.toFixed(1) : n) + " " + ["B", "kB", "MB", "GB", "TB"][i];
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
      y: { type: "logarithmic", title: { display: true, text: "criterion" } },
    },
  },
});

function row(member) {
  const line = document.createElement("tr");
  const cells = [member.name, member.state, ago(member.seen), member.version, member.records ?? "", member.repairs ?? ""];
  cells.forEach((text, i) => {
    const cell = document.createElement("td");
    cell.textContent = text;
    if (i === 1) cell.className = member.state;
    if (i > 3) cell.className = "wide";
    line.append(cell);
  });
  return line;
}

function show(s) {
  at("title").textContent = `${s.federation}, run ${s.run}` + (s.algorithm ? `: ${s.algorithm}` : "");
  at("sentence").textContent = (s.paused ? "paused" : s.state) + (s.sentence ? ": " + s.sentence : "");
  at("round").textContent = s.rounds ? `${s.round} / ${s.rounds}` : s.round;
  at("updates").textContent = `${s.received} / ${s.cohort}`;
  at("criterion").textContent = s.criterion === undefined ? "–" : s.criterion.toExponential(3);
  at("privacy").textContent = s.privacy ? "ε " + (s.privacy.epsilon ?? "?") : "off";
  at("bytes").textContent = `${bytes(s.bytes_up)} / ${bytes(s.bytes_down)}`;
  at("refused").textContent = s.refused;
  at("members").replaceChildren(...s.members.map(row));
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
