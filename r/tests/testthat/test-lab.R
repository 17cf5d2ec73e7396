# Audit, comparison, tuning, theory, the paper's tables.
draw <- function(code) {
  file <- tempfile(fileext = ".pdf")
  grDevices::pdf(file)
  on.exit({ grDevices::dev.off(); unlink(file) })
  force(code)
}

test_that("theory says what is proved", {
  t <- theory(1, 10)
  expect_true(t$guaranteed)
  expect_equal(t$rho, 1 / sqrt(10))
  expect_equal(t$gamma, 2 / (1 + 10 + 2 / t$rho)) # the step that contracts most
  expect_lt(t$rate, 1)
  expect_true(all(diff(t$bound) < 0))
  expect_false(theory(1, 10, gamma = 5)$guaranteed)
  expect_output(print(t), "Convergence is guaranteed")
  expect_match(paste(toLatex(t), collapse = ""), "tabular")
  draw(plot(t))
  expect_error(theory(1, -1), class = "fedplt_error")
})

test_that("tune chooses parameters that theory rates best", {
  found <- tune(1, 100)
  expect_equal(min(found$table$expected_time), found$table$expected_time[1])
  expect_identical(found$choice$rho, found$table$rho[1])
  expect_equal(theory(1, 100, rho = found$choice$rho, gamma = found$choice$step, epochs = found$choice$epochs)$model_rate, found$table$rate[1])
  expect_output(print(found), "rho")
  draw(plot(found))
})

test_that("tune takes rows, and finds what the command line finds", {
  d <- generated()
  d <- d[!is.na(d$x), c("x", "z", "y", "site")]
  found <- tune(x = d[c("x", "z")], y = d$y == 1, sites = d$site, by = "both", rounds = 100, eps = 0.1, rho = 2)
  expect_true(all(found$table$rho == 2)) # given: kept
  expect_true(all(found$table$epochs >= 1))
  expect_gt(found$rounds_spent, 0)
  expect_lte(found$rounds_spent, 100)
  expect_error(tune(), "lmin and lmax", class = "fedplt_error")
  expect_error(tune(1, 2, by = "both"), "needs rows", class = "fedplt_error")
  expect_error(tune(1, 2, x = d["x"], y = d$y), "beside x", class = "fedplt_error")
  program <- Sys.getenv("FEDPLT_PROGRAM")
  if (!nzchar(program) || !requireNamespace("jsonlite", quietly = TRUE)) skip("the program or jsonlite is not there")
  file <- tempfile(fileext = ".csv")
  on.exit(unlink(file))
  written <- d
  for (name in c("x", "z")) written[[name]] <- sprintf("%.17g", d[[name]])
  write.csv(written, file, row.names = FALSE, quote = FALSE)
  for (by in c("theory", "experiment")) {
    told <- system2(program, c("tune", "--data", file, "--label", "y", "--eps", "0.1", "--tolerance", "1e-5", "--relative", "--algorithm", "fed-plt",
                               "--by", by, if (by != "theory") c("--tune-rounds", "200"), "--json"), stdout = TRUE)
    there <- jsonlite::fromJSON(paste(told, collapse = "\n"))
    here <- tune(x = d[c("x", "z")], y = d$y == 1, sites = d$site, by = by, rounds = 200, eps = 0.1)
    expect_equal(here$table$rho, there$candidates$rho, tolerance = 1e-12)
    expect_equal(here$table$epochs, there$candidates$epochs)
    expect_equal(here$rounds_spent, there$rounds_spent)
  }
})

test_that("compare runs algorithms to a common criterion, on generated data and on rows", {
  found <- compare(c("fed-plt", "fedlin"), runs = 2, agents = 5, rows = 20, features = 3)
  expect_identical(found$table$algorithm, c("fed-plt", "fedlin"))
  expect_true(all(found$table$failures == 0))
  last <- tapply(found$curves$criterion, found$curves$algorithm, function(v) v[length(v)])
  expect_true(all(last <= found$target))
  expect_output(print(found), "fedlin")
  expect_match(paste(toLatex(found), collapse = "\n"), "fed-plt &")
  draw(plot(found))
  d <- generated()
  rows <- compare("fed-plt", d[-c(3, 17), c("x", "z")], d$y[-c(3, 17)] == 1, d$site[-c(3, 17)], runs = 1, eps = 0.1)
  expect_identical(rows$table$failures, 0)
  expect_error(compare("fed-plat"), "there is no algorithm 'fed-plat'", class = "fedplt_error")
})

test_that("paper_table computes a table anew", {
  one <- paper_table("IX", seeds = 1, runs = 1)
  expect_identical(one, paper_table("IX", seeds = 1, runs = 1))
  other <- paper_table("IX", seed = 1, seeds = 1, runs = 1)
  expect_identical(one$paper, other$paper) # the paper's own figures
  expect_false(identical(one$ours, other$ours)) # those of another data set
  # a round costs t_C more: time is rounds x (epochs + t_C) for 100 agents
  priced <- as.numeric(sub("t_C = ", "", one$column))
  steps <- as.numeric(sub("N_e = ", "", one$row))
  expect_equal(one$ours, one$rounds * 100 * (steps + priced))
  draw(plot(one))
  expect_error(paper_table("XX"), "there is no table 'XX'", class = "fedplt_error")
})

test_that("audit does not refute a promise that holds", {
  d <- generated(60)
  d <- d[!is.na(d$x), ]
  f <- fedplt(y ~ x, d, site, penalty = 0.1, privacy = privacy(1, 1e-5, list(x = c(-4, 4))),
              control = fedplt_control(algorithm = "fed-plt", rounds = NULL))
  a <- audit(f, runs = 200, confidence = 1 - 1e-7) # chance refutes once in 10^7
  expect_false(a$refuted)
  expect_output(print(a), "not refuted")
  expect_error(audit(fedplt(y ~ x, d, site)), "no promise", class = "fedplt_error")
})
