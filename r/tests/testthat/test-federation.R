# A coordinator and two agents in this process, over loopback.
test_that("a federation trains the model of the pooled rows, in the background", {
  skip_on_os("windows")
  folder <- tempfile("federation")
  dir.create(folder)
  members <- list()
  asked <- character()
  on.exit({
    for (one in members) halt(one)
    for (one in members) try(wait(one, 60), silent = TRUE)
    unlink(folder, recursive = TRUE)
  })
  address <- paste0("127.0.0.1:", federation_port())
  home <- file.path(folder, "home")
  federation_init(home, "hospitals", address)
  sites <- c("north", "south")
  codes <- vapply(sites, function(name) federation_invite(home, name), "")
  members$leader <- coordinator(home, federation = "hospitals", listen = address, out = file.path(folder, "out"),
                                roster = sites, once = TRUE, train = list(algorithm = "fed-newton", eps = 0.1, rounds = 8,
                                                                        tolerance = 0, intercept = TRUE, weights = "rows"))
  set.seed(4)
  d <- data.frame(a = rnorm(120), b = rnorm(120), site = rep(sites, 60))
  d$label <- rbinom(120, 1, plogis(d$a))
  for (name in sites) {
    place <- file.path(folder, name)
    for (try in 1:200) { # the coordinator may not listen yet
      joined <- tryCatch(federation_join(codes[[name]], place), fedplt_error = function(e) NULL)
      if (!is.null(joined)) break
      Sys.sleep(0.1)
    }
    expect_identical(joined, name)
    rows <- d[d$site == name, c("a", "b", "label")]
    rows[1:2] <- lapply(rows[1:2], function(column) sprintf("%.17g", column))
    write.csv(rows, file.path(place, "rows.csv"), row.names = FALSE, quote = FALSE)
    members[[name]] <- agent(place, coordinator = paste0("https://", address), data = file.path(place, "rows.csv"),
                             out = file.path(place, "out"), once = TRUE, proxy = "off",
                             agree = if (name == "south") TRUE else function(proposal, hash) {
                               asked <<- c(asked, proposal, hash)
                               TRUE
                             },
                             policy = list(disclosure = "off"))
  }
  found <- wait(members$leader, 300)
  expect_true(found$finished)
  expect_length(asked, 2)
  expect_match(asked[1], "fed-newton")
  expect_match(asked[2], "^[0-9a-f]{16,}")
  expect_identical(found$rounds, 8)
  expect_true(all(c("word", "sentence", "round") %in% names(found$events)))
  expect_output(print(members$leader), "coordinator of a federation, finished")
  expect_setequal(federation_members(home)$name, sites)
  text <- paste(readLines(found$model), collapse = " ")
  weights <- as.numeric(strsplit(sub('.*"weights": *\\[([^]]*)\\].*', "\\1", text), ",")[[1L]])
  here <- fedplt(label ~ a + b, d, site, penalty = 0.1,
                 control = fedplt_control(algorithm = "fed-newton", rounds = 8, tol = 0, standardise = "yes", penalty_units = "model"))
  expect_close(here$trained$model$weights, weights, 1e-12)
  # the model is judged over the same sites; agents of training have ended, so others take their places
  for (name in sites) wait(members[[name]], 120)
  for (name in sites) members[[name]] <- agent(file.path(folder, name), coordinator = paste0("https://", address), once = TRUE, proxy = "off",
    data = file.path(folder, name, "rows.csv"), out = file.path(folder, name, "out"), agree = TRUE, policy = list(disclosure = "off"))
  expect_error(federation_evaluate(home, "nowhere.json"), "nowhere.json", class = "fedplt_error")
  judged <- federation_evaluate(home, found$model, federation = "hospitals", listen = address, out = file.path(folder, "judged"),
                                roster = sites, grid = 50, seconds = 300)
  alone <- evaluate(here, d)
  expect_identical(judged$rows[nrow(judged)], 120L)
  expect_equal(judged$loss[nrow(judged)], alone$sites$loss[nrow(alone$sites)], tolerance = 1e-8)
  for (name in sites) wait(members[[name]], 120)
  schema <- file.path(folder, "study.yaml")
  writeLines(c("columns:", "  a: {type: number, bounds: -6..6}", "  b: {type: number, bounds: -6..6}", "  label: {type: label, classes: ['0', '1']}"),
             schema)
  for (name in sites) members[[name]] <- agent(file.path(folder, name), coordinator = paste0("https://", address), once = TRUE, proxy = "off",
    data = file.path(folder, name, "rows.csv"), out = file.path(folder, name, "out"), schema = schema, agree = TRUE,
    policy = list(disclosure = "off"))
  expect_error(federation_describe(home, "nowhere.yaml"), "nowhere.yaml", class = "fedplt_error")
  told <- federation_describe(home, schema, federation = "hospitals", listen = address, out = file.path(folder, "told"),
                              roster = sites, by = "label", grid = 40, seconds = 300)
  here <- as.data.frame(describe(file.path(folder, sites, "rows.csv"), schema = schema, by = "label", grid = 40))
  here$site <- sub(".*/(north|south)/rows.csv", "\\1", here$site)
  expect_identical(told, here)
  for (name in sites) wait(members[[name]], 120)
  d$arm <- rep(c("x", "y"), each = 60)
  d$days <- ceiling(rexp(120, 0.01 * exp(0.4 * (d$arm == "y"))))
  d$died <- ifelse(d$days > 150, "no", "yes")
  d$days <- pmin(d$days, 150)
  writeLines(c("columns:", "  arm: {type: category, levels: [x, y]}", "  days: {type: time, bounds: 1..200}",
               "  died: {type: event, classes: ['no', 'yes']}"), schema)
  for (name in sites) {
    times <- file.path(folder, name, "times.csv")
    write.csv(d[d$site == name, c("arm", "days", "died")], times, row.names = FALSE, quote = FALSE)
    members[[name]] <- agent(file.path(folder, name), coordinator = paste0("https://", address), once = TRUE, proxy = "off", data = times,
      out = file.path(folder, name, "out"), schema = schema, agree = TRUE, policy = list(disclosure = "off"))
  }
  expect_error(federation_survival(home, "nowhere.yaml"), "nowhere.yaml", class = "fedplt_error")
  told <- federation_survival(home, schema, federation = "hospitals", listen = address, out = file.path(folder, "curves"), roster = sites,
                              by = "arm", grid = 5, seconds = 300)
  here <- survival_curves(Surv(days, died) ~ arm, file.path(folder, sites, "times.csv"), schema = schema, grid = 5)$steps
  here$site <- sub(".*/(north|south)/times.csv", "\\1", here$site)
  expect_identical(told, here)
})

test_that("an error in the function that is asked for consent is no consent", {
  skip_on_os("windows")
  folder <- tempfile("federation")
  dir.create(folder)
  members <- list()
  on.exit({
    for (one in members) halt(one)
    for (one in members) try(wait(one, 60), silent = TRUE)
    unlink(folder, recursive = TRUE)
  })
  address <- paste0("127.0.0.1:", federation_port())
  home <- file.path(folder, "home")
  place <- file.path(folder, "north")
  federation_init(home, "hospitals", address)
  code <- federation_invite(home, "north")
  members$leader <- coordinator(home, federation = "hospitals", listen = address, out = file.path(folder, "out"), roster = "north",
                                once = TRUE, train = list(algorithm = "fed-newton", rounds = 2, eps = 0.1))
  for (try in 1:200) { # the coordinator may not listen yet
    joined <- tryCatch(federation_join(code, place), fedplt_error = function(e) NULL)
    if (!is.null(joined)) break
    Sys.sleep(0.1)
  }
  writeLines(c("a,label", paste(seq_len(40) %% 7, seq_len(40) %% 2, sep = ",")), file.path(place, "rows.csv"))
  expect_error(agent(place, agree = "yes"), "TRUE, FALSE or a function", class = "fedplt_error")
  members$agent <- agent(place, coordinator = paste0("https://", address), data = file.path(place, "rows.csv"), once = TRUE, proxy = "off",
                         policy = list(disclosure = "off"), agree = function(proposal, hash) stop("not today"))
  expect_error(wait(members$agent, 300), "not today")
  expect_false(status(members$leader)$finished)
})

test_that("errors of a coordinator come out of wait, and halt ends an agent that waits", {
  skip_on_os("windows")
  folder <- tempfile("federation")
  on.exit(unlink(folder, recursive = TRUE))
  expect_error(coordinator(folder, rooster = "a"), "there is no setting 'rooster'", class = "fedplt_error")
  leader <- coordinator(folder, federation = "hospitals", listen = "127.0.0.1:1", roster = "a")
  expect_error(wait(leader, 60), class = "fedplt_error")
  expect_match(status(leader)$failure, ".")
})

# Two agents of this process bring robust regression by the Welsch loss; the same costs by fedplt_optim have the same bits.
test_that("agents bring a cost of R's functions", {
  skip_on_os("windows")
  folder <- tempfile("custom")
  dir.create(folder)
  members <- list()
  on.exit({
    for (one in members) halt(one)
    for (one in members) try(wait(one, 60), silent = TRUE)
    unlink(folder, recursive = TRUE)
  })
  digest <- strrep("cd", 32)
  cost_of <- function(number) {
    set.seed(number)
    x <- cbind(rnorm(40), 1)
    y <- as.vector(x %*% c(2, -1)) + rt(40, 1)
    list(name = "welsch", version = "1.0", digest = digest, dimension = 2, records = 40, curvature = c(-2, 6),
         value = function(w) mean(1 - exp(-(as.vector(x %*% w) - y)^2 / 2)),
         gradient = function(w) {
           r <- as.vector(x %*% w) - y
           as.vector(crossprod(x, exp(-r^2 / 2) * r)) / 40
         })
  }
  address <- paste0("127.0.0.1:", federation_port())
  home <- file.path(folder, "home")
  federation_init(home, "trial", address)
  sites <- c("north", "south")
  costs <- lapply(1:2, cost_of)
  codes <- vapply(sites, function(name) federation_invite(home, name), "")
  train <- list(algorithm = "fed-plt", rounds = 12, tolerance = 0, epochs = 3, rho = 0.2, gamma = 0.1)
  members$leader <- coordinator(home, federation = "trial", listen = address, out = file.path(folder, "out"), roster = sites,
                                once = TRUE, aggregate = "plain", train = c(list(loss = "custom"), train),
                                model = list(name = "welsch", version = "1.0", dimension = 2, digest = digest))
  for (i in 1:2) {
    place <- file.path(folder, sites[i])
    for (try in 1:200) { # the coordinator may not listen yet
      joined <- tryCatch(federation_join(codes[[i]], place), fedplt_error = function(e) NULL)
      if (!is.null(joined)) break
      Sys.sleep(0.1)
    }
    members[[sites[i]]] <- agent(place, coordinator = paste0("https://", address), once = TRUE, proxy = "off", cost = costs[[i]],
                                 out = file.path(place, "out"),
                                 policy = list(federations = "trial", epsilon = "off", models = digest, models_off = digest))
  }
  found <- wait(members$leader, 200)
  expect_true(found$finished)
  expect_identical(found$rounds, 12)
  text <- paste(readLines(found$model, warn = FALSE), collapse = " ")
  weights <- as.numeric(strsplit(sub('.*"weights": *\\[([^]]*)\\].*', "\\1", text), ",")[[1L]])
  here <- suppressWarnings(fedplt_optim(function(x, agent) costs[[agent]]$value(x), function(x, agent) costs[[agent]]$gradient(x), 2, 2,
                                        control = fedplt_control(algorithm = "fed-plt", rounds = 12, tol = 0, epochs = 3, rho = 0.2,
                                                                 gamma = 0.1)))
  expect_identical(weights, here$par)
  expect_error(agent(home, cost = list(name = "welsch")), "cost has no version")
})
