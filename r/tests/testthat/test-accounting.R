# The accountant and the inspection beside the program, and formulas that do not come from it.
program <- Sys.getenv("FEDPLT_PROGRAM")
ask <- function(...) system2(program, c(...), stdout = TRUE, stderr = FALSE)
numbers_of <- function(json, name) {
  found <- regmatches(json, regexpr(paste0('"', name, '": *[^,}]*'), json))
  suppressWarnings(as.numeric(sub(".*: *", "", found)))
}

test_that("epsilon, calibration and curve are the program's", {
  skip_if(program == "", "the program is not there")
  cases <- list(list("--records 100 --epochs 3", list(records = 100, epochs = 3)),
                list("--lattice no --rho 2", list(lattice = FALSE, rho = 2)), list("--agents 7 --dimension 3", list(agents = 7, dimension = 3)),
                list("--proximal no --sensitivity 1 --lmin 0.1 --lmax 3", list(proximal = FALSE, sensitivity = 1, lmin = 0.1, lmax = 3)),
                list("--proximal no --step-wise yes --gamma 0.5", list(proximal = FALSE, step_wise = TRUE, gamma = 0.5)))
  for (one in cases) {
    told <- ask("privacy", "epsilon", "--tau", "0.2", strsplit(one[[1L]], " ")[[1L]], "--json")
    here <- do.call(privacy_epsilon, c(list(tau = 0.2), one[[2L]]))
    for (name in c("rdp_rate", "tight", "classic")) expect_identical(here[[name]], numbers_of(told, name))
    if (grepl("agents|step-wise", one[[1L]])) next # without an effect there, which the program refuses
    told <- ask("privacy", "calibrate", "--epsilon", "1.5", strsplit(one[[1L]], " ")[[1L]], "--json")
    expect_identical(do.call(privacy_calibrate, c(list(epsilon = 1.5), one[[2L]]))$tau, numbers_of(told, "tau"))
  }
  folder <- tempfile()
  told <- ask("privacy", "curve", "--tau", "0.3", "--most", "100", "--out", folder, "--json")
  unlink(folder, recursive = TRUE)
  here <- privacy_curve(0.3, most = 100)
  shown <- c(1, 10 * 1:6, 60 + c(1, 10 * 1:6), 120 + c(1, 10 * 1:6))
  expect_equal(here$transcript[shown], numbers_of(told, "transcript"), tolerance = 1e-14)
  expect_equal(here$composition[shown], numbers_of(told, "composition"), tolerance = 1e-14)
})

test_that("a Gaussian claim has the epsilon of its own curve", {
  found <- privacy_epsilon(0.2, lattice = FALSE)
  one <- found[found$threat == "transcript", ]
  expect_close(one$mu, sqrt(2 * one$rdp_rate), 1e-12)
  expect_close(stats::pnorm(one$mu / 2 - one$exact / one$mu) - exp(one$exact) * stats::pnorm(-one$mu / 2 - one$exact / one$mu), 1e-5, 1e-9)
  needed <- privacy_calibrate(one$exact, lattice = FALSE)
  expect_equal(needed$tau, 0.2, tolerance = 1e-6)
  expect_gte(privacy_calibrate(3, tau = 0.2)$rounds, 50)
  expect_error(privacy_epsilon(-1), class = "fedplt_error")
  expect_error(privacy_epsilon(1, records = 0.5), "records", class = "fedplt_error")
  expect_error(privacy_epsilon(1, nothing = 2), "a mechanism has", class = "fedplt_error")
  expect_error(privacy_calibrate(0), "epsilon", class = "fedplt_error")
  expect_error(privacy_calibrate(1, threat = "nobody"), "nobody", class = "fedplt_error")
  expect_output(print(privacy_curve(points = 10)), "delta 1e-05")
  expect_s3_class(toLatex(privacy_curve(points = 3)), "Latex")
})

test_that("less noise is less accurate nowhere but by chance, and the table is the program's", {
  found <- privacy_tradeoff(c(0.5, 1000), 3, agents = 3, rows = 60, features = 2, seed = 3)
  expect_identical(nrow(as.data.frame(found)), 4L)
  expect_gt(found$table$tau[1L], found$table$tau[2L])
  expect_output(print(found), "not private")
  expect_error(privacy_tradeoff(0), "epsilons", class = "fedplt_error")
  expect_error(privacy_tradeoff(1, 1, rho = -1), "rho", class = "fedplt_error")
  skip_if(program == "", "the program is not there")
  told <- ask("privacy", "tradeoff", "--epsilons", "0.5,1000", "--repeats", "3", "--agents", "3", "--rows", "60", "--features", "2",
              "--seed", "3", "--json")
  expect_identical(found$table$tau, numbers_of(told, "tau")[c(1, 3, 2, 4)])
  expect_identical(found$table$quality, numbers_of(told, "quality")[c(2, 4, 3, 5)]) # the first is the measure's name
})

test_that("columns are described as by summary(), with likely mistakes", {
  d <- data.frame(id = sprintf("P%03d", 1:60), site = rep(c("north", "south"), 30), age = c(NA, seq(20, 78, length.out = 59)),
                  sex = rep(c("f", "m", "m"), 20), code = rep(c(1, 2, -9), 20))
  found <- inspect(d, site)
  all <- subset(as.data.frame(found), is.na(site))
  age <- all[all$column == "age", ]
  expect_equal(unlist(age[c("min", "q1", "median", "q3", "max")], use.names = FALSE), unname(quantile(d$age, na.rm = TRUE)), tolerance = 1e-12)
  expect_equal(c(age$mean, age$sd), c(mean(d$age, na.rm = TRUE), sd(d$age, na.rm = TRUE)), tolerance = 1e-12)
  expect_identical(c(age$rows, age$missing), c(60, 1))
  expect_identical(all$levels[all$column == "sex"], "m 40, f 20")
  north <- subset(as.data.frame(found), site == "north" & column == "age")
  expect_equal(north$mean, mean(d$age[d$site == "north"], na.rm = TRUE), tolerance = 1e-12)
  expect_match(found$problems, "'id' has 60 different words", all = FALSE)
  expect_false(any(grepl(".csv", found$problems, fixed = TRUE)))
  expect_output(print(found), "Likely mistakes")
  expect_error(inspect(3), "data frame", class = "fedplt_error")
  expect_error(inspect(d[0, ]), "no rows", class = "fedplt_error")
  expect_error(inspect("nowhere.csv"), "nowhere.csv", class = "fedplt_error")
})
