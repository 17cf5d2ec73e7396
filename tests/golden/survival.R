# Makes survival.csv, the rows of a trial at three sites, and survival_r.csv, the numbers that R's package survival has of them.
# With the name of a file as argument, takes the rows from it and prints the numbers.
#
# usage: Rscript tests/golden/survival.R [ROWS]
suppressMessages(library(survival))
given <- commandArgs(TRUE)
if (length(given)) {
  d <- read.csv(given[1], stringsAsFactors = TRUE)
} else {
  set.seed(21)
  n <- 120
  d <- data.frame(site = sample(c("east", "north", "south"), n, TRUE, c(0.2, 0.5, 0.3)), arm = sample(c("drug", "placebo"), n, TRUE),
                  age = round(rnorm(n, 60, 9)), grade = sample(c("g1", "g2", "g3"), n, TRUE), marker = round(rnorm(n), 2))
  hazard <- exp(0.03 * (d$age - 60) + 0.5 * (d$arm == "placebo") + 0.4 * (d$grade == "g3") - 0.3 * d$marker) / 400
  event <- rexp(n, hazard)
  end <- runif(n, 50, 900)
  d$days <- pmax(1, round(pmin(event, end) / 5) * 5)
  d$died <- as.integer(event <= end)
  d$weight <- sample(c(0.5, 1, 2.5), n, TRUE)
  write.csv(d, "tests/golden/survival.csv", row.names = FALSE, quote = FALSE)
  d <- read.csv("tests/golden/survival.csv", stringsAsFactors = TRUE)
  sink("tests/golden/survival_r.csv")
}
tell <- function(case, key, values) cat(case, ",", key, ",", paste(sprintf("%.11g", values), collapse = " "), "\n", sep = "")
cat("case,key,values\n")

curve <- function(case, fit) {
  made <- summary(fit, censored = TRUE)
  for (key in c("time", "n.risk", "n.event", "n.censor", "surv", "std.err", "lower", "upper")) tell(case, key, made[[key]])
  table <- summary(fit)$table
  if (is.matrix(table)) table <- table[1, ]
  tell(case, "median", unname(table[7:9]))
}
curves <- function(name, d, ...) {
  curve(paste(name, "all"), survfit(Surv(days, died) ~ 1, d, ...))
  for (arm in levels(d$arm)) curve(paste(name, arm), survfit(Surv(days, died) ~ 1, d[d$arm == arm, ], ...))
  for (site in levels(d$site)) curve(paste(name, "site", site), survfit(Surv(days, died) ~ 1, d[d$site == site, ], ...))
}
curves("log", d)
for (type in c("log-log", "plain")) curve(paste(type, "all"), survfit(Surv(days, died) ~ 1, d, conf.type = type))
curve("level", survfit(Surv(days, died) ~ 1, d, conf.int = 0.9))

rank <- function(case, test) {
  sum_of <- function(x) if (is.matrix(x)) rowSums(x) else x
  freedom <- sum(sum_of(test$exp) > 0) - 1
  tell(case, "observed", unname(sum_of(test$obs)))
  tell(case, "expected", unname(sum_of(test$exp)))
  tell(case, "test", c(test$chisq, freedom, pchisq(test$chisq, freedom, lower.tail = FALSE)))
}
ranks <- function(name, d) {
  rank(paste(name, "strata"), survdiff(Surv(days, died) ~ arm, d))
  rank(paste(name, "strata within sites"), survdiff(Surv(days, died) ~ arm + strata(site), d))
  rank(paste(name, "sites"), survdiff(Surv(days, died) ~ site, d))
}
ranks("exact", d)

# Times on a grid are those of the boundary that follows; past the last boundary nobody is observed.
wide <- transform(d, days = ceiling(days / 90) * 90)
curves("wide", wide)
ranks("wide", wide)
bounds <- c(60, 120, 240, 480)
later <- d$days > 480
listed <- transform(d, days = ifelse(later, 480, bounds[findInterval(days, bounds, left.open = TRUE) + 1]), died = died * !later)
curves("listed", listed)
# Where fewer than 12 of a site and arm are at risk, those who are left leave at the time before.
cut <- do.call(rbind, lapply(split(d, list(d$site, d$arm)), function(part) {
  at <- sort(unique(part$days))
  risk <- sapply(at, function(t) sum(part$days >= t))
  kept <- at[risk >= 12]
  if (!length(kept)) return(part[0, ])
  part$died[part$days > max(kept)] <- 0L
  part$days <- pmin(part$days, max(kept))
  part
}))
curves("cut", cut)
ranks("cut", cut)

# On a grid of width 30 every step of a site and arm has at least 5 events, or 5 who leave. A part is its rows, and the boundaries
# between which events and others are counted.
told <- function(count) count == 0 || count >= 5
divide <- function(cells, low, high) { # boundaries between low and high: first those that the most powers of two divide
  for (power in 2^(12:0))
    for (b in power * seq(floor(low / power) + 1, length.out = max(0, ceiling(high / power) - floor(low / power) - 1)))
      if (b > low && b < high && sum(cells <= b) >= 5 && sum(cells > b) >= 5)
        return(c(divide(cells[cells <= b], low, b), b, divide(cells[cells > b], b, high)))
  NULL
}
parts <- lapply(split(transform(d, cell = ceiling(days / 30)), list(d$site, d$arm)), function(part) {
  for (end in sort(unique(part$cell), decreasing = TRUE)) {
    events <- sum(part$died[part$cell <= end])
    if (sum(part$cell >= end) >= 5 && told(events) && told(nrow(part) - events)) break
    end <- NA
  }
  if (is.na(end)) return(list(rows = part[0, ]))
  part$died[part$cell > end] <- 0L
  part$cell <- pmin(part$cell, end)
  list(rows = part, end = end, bounds = lapply(c(0, 1), function(died) {
    cells <- part$cell[part$died == died]
    if (length(cells)) c(divide(cells, 0, end), end)
  }))
})
# The rows of some parts, each at the next boundary that none of them has not.
together <- function(parts) {
  parts <- parts[sapply(parts, function(part) nrow(part$rows) > 0)]
  rows <- do.call(rbind, lapply(parts, `[[`, "rows"))
  for (died in c(0, 1)) {
    own <- lapply(parts, function(part) part$bounds[[died + 1]])
    has <- function(b) all(mapply(function(part, own) is.null(own) || b %in% own || b >= part$end, parts, own))
    common <- Filter(has, 1:max(rows$cell))
    mine <- rows$died == died
    rows$days[mine] <- 30 * sapply(rows$cell[mine], function(cell) min(common[common >= cell]))
  }
  rows
}
of_arm <- function(arm) parts[sapply(parts, function(part) all(part$rows$arm == arm))]
of_site <- function(site) parts[sapply(parts, function(part) all(part$rows$site == site))]
curve("merged all", survfit(Surv(days, died) ~ 1, together(parts)))
for (arm in levels(d$arm)) {
  curve(paste("merged", arm), survfit(Surv(days, died) ~ 1, together(of_arm(arm))))
  for (site in levels(d$site)) curve(paste("merged", arm, site), survfit(Surv(days, died) ~ 1, together(parts[paste(site, arm, sep = ".")])))
}
rank("merged strata", survdiff(Surv(days, died) ~ arm, together(parts)))
rank("merged strata within sites", survdiff(Surv(days, died) ~ arm + strata(site), do.call(rbind, lapply(levels(d$site), function(site) together(of_site(site))))))

# ---- Cox regression, sites as strata ----
finest <- coxph.control(eps = 1e-14, iter.max = 100, toler.inf = 1e-10)
new <- data.frame(arm = factor(c("drug", "placebo"), levels(d$arm)), age = c(50, 71), grade = factor(c("g1", "g3"), levels(d$grade)),
                  marker = c(-0.5, 1.25))
for (case in c("efron", "breslow", "weighted efron")) {
  weights <- if (grepl("weighted", case)) d$weight else rep(1, nrow(d))
  fit <- coxph(Surv(days, died) ~ arm + age + grade + marker + strata(site), d, weights, ties = sub("weighted ", "", case),
               robust = FALSE, control = finest)
  ties <- case
  base <- basehaz(fit, centered = FALSE)
  for (site in levels(d$site)) {
    own <- base[sub("site=", "", base$strata) == site, ]
    tell(paste(ties, "baseline", site), "time", own$time)
    tell(paste(ties, "baseline", site), "hazard", own$hazard)
    for (row in 1:2) {
      made <- survfit(fit, newdata = cbind(new[row, ], site = factor(site, levels(d$site))))
      case <- paste(ties, "patient", row, site)
      tell(case, "time", made$time)
      tell(case, "surv", made$surv)
      tell(case, "cumhaz", made$cumhaz)
      tell(case, "std.err", made$std.err)
      tell(case, "lower", made$lower)
      tell(case, "upper", made$upper)
      tell(case, "median", unname(summary(made)$table[7:9]))
    }
  }
  for (transform in c("km", "identity", "log", "rank"))
    for (terms in c(TRUE, FALSE)) {
      test <- cox.zph(fit, transform = transform, terms = terms)$table
      case <- paste(ties, transform, if (terms) "terms" else "columns")
      for (key in c("chisq", "df", "p")) tell(case, key, unname(test[, key]))
    }
}
