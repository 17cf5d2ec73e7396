# Federations over a network. A coordinator and agents run in threads beside R's, which stays free.

federation_init <- function(folder, name, address) {
  .Call(C_federation_found, path.expand(folder), name, address)
  invisible(folder)
}

federation_invite <- function(folder, name) .Call(C_federation_invite, path.expand(folder), name)

federation_join <- function(code, folder, proxy = NULL) .Call(C_federation_join, code, path.expand(folder), proxy)

federation_revoke <- function(folder, name) invisible(.Call(C_federation_revoke, path.expand(folder), name))

federation_members <- function(folder) {
  as.data.frame(.Call(C_federation_members, path.expand(folder)), stringsAsFactors = FALSE)
}

federation_port <- function() .Call(C_federation_port)

# key=value,key=value of a list.
pairs_text <- function(values) {
  escaped <- function(text) gsub("([\\\\,=])", "\\\\\\1", text)
  paste(setting_name(names(values)), escaped(vapply(values, as_setting_text, "")), sep = "=", collapse = ",")
}

# Settings by the keys of federation.yaml or site.yaml, with _ for -; `policy` is a list of its keys, other lists are pairs.
member_settings <- function(values, kind) {
  if (length(values) && (is.null(names(values)) || any(names(values) == ""))) refuse("every setting needs a name")
  policy <- values$policy
  if (is.list(policy)) {
    values$policy <- NULL
    values[paste0("policy.", names(policy))] <- policy
  }
  pairs <- vapply(values, is.list, NA)
  values[pairs] <- lapply(values[pairs], pairs_text)
  for (name in intersect(names(values), c("folder", "out", "data"))) values[[name]] <- path.expand(values[[name]])
  names(values) <- setting_name(names(values))
  make_settings(values, kind = kind)
}

# Agents whose consent is a function of R. The function runs on R's main thread, while that waits or asks for a status.
asking <- new.env(parent = emptyenv())

# A cost as C_member_start takes it; NULL stays NULL.
check_cost <- function(cost) {
  if (is.null(cost)) return(NULL)
  for (name in c("name", "version", "digest", "dimension", "value", "gradient"))
    if (is.null(cost[[name]])) refuse("cost has no ", name, ", but must be a list of name, version, digest, dimension, value and gradient")
  for (name in c("value", "gradient")) if (!is.function(cost[[name]])) refuse("cost: ", name, " must be a function of x")
  curvature <- if (is.null(cost$curvature)) c(NA, NA) else cost$curvature
  if (length(curvature) != 2L) refuse("cost: curvature has ", length(curvature), " numbers, but must have 2, the lowest and the highest")
  list(as.character(cost$name), as.character(cost$version), as.character(cost$digest), as.double(cost$dimension),
       as.double(if (is.null(cost$records)) 1 else cost$records), as.double(curvature[1L]), as.double(curvature[2L]))
}

# Answers what the agent's cost is asked until nothing is asked for `seconds`; whether there was anything. An error or
# interrupt in a function of the cost ends the agent and comes out of wait().
serve_cost <- function(one, seconds) {
  served <- FALSE
  while (!is.null(asked <- .Call(C_member_point, one$pointer, seconds))) {
    numbers <- NULL
    tryCatch(numbers <- as.double(if (asked$gradient) one$cost$gradient(asked$x) else one$cost$value(asked$x)),
             finally = taken <- .Call(C_member_numbers, one$pointer, numbers))
    if (!taken) refuse(if (asked$gradient) paste("the gradient must have", length(asked$x), "numbers") else "the value must be one number")
    served <- TRUE
  }
  served
}

has_costs <- function() any(vapply(asking$members, function(one) !is.null(one$cost), NA))

serve_costs <- function() {
  served <- FALSE
  for (one in asking$members) if (!is.null(one$cost)) served <- serve_cost(one, 0.002) || served
  served
}

start_member <- function(values, kind, agree, cost = NULL) {
  settings <- member_settings(values, kind)
  answer <- if (is.function(agree)) NA else isTRUE(agree)
  made <- structure(list(pointer = .Call(C_member_start, settings, kind == "coordinator", answer, check_cost(cost)), kind = kind), class = "fedplt_member")
  if (is.function(agree) || !is.null(cost))
    asking$members <- c(asking$members, list(list(pointer = made$pointer, agree = agree, cost = cost)))
  made
}

# Answers the questions of all agents of this process. An error or interrupt in a person's function is no consent.
answer_questions <- function() {
  for (one in asking$members) {
    asked <- .Call(C_member_asked, one$pointer)
    if (is.null(asked)) next
    consent <- FALSE
    tryCatch(consent <- isTRUE(one$agree(asked$proposal, asked$hash)), finally = .Call(C_member_answer, one$pointer, consent))
  }
  asking$members <- Filter(function(one) .Call(C_member_status, one$pointer)$running, asking$members)
}

coordinator <- function(folder, ...) start_member(list(folder = folder, ...), "coordinator", FALSE)

agent <- function(folder, ..., agree = FALSE, cost = NULL) {
  if (!is.function(agree) && !(is.logical(agree) && length(agree) == 1L && !is.na(agree)))
    refuse("agree is of class ", class(agree)[1L], ", but must be TRUE, FALSE or a function(proposal, hash)")
  start_member(list(folder = folder, ...), "agent", agree, cost)
}

status <- function(x, ...) UseMethod("status")

status.fedplt_member <- function(x, ...) {
  answer_questions()
  serve_costs()
  found <- .Call(C_member_status, x$pointer)
  found$events <- as.data.frame(found$events, stringsAsFactors = FALSE)
  structure(found, class = "fedplt_status")
}

print.fedplt_status <- function(x, ...) {
  if (x$running) cat("running")
  else if (!is.na(x$failure)) cat("failed: ", x$failure, sep = "")
  else cat(if (x$finished) "finished" else "ended", if (nzchar(x$sentence)) paste0(": ", x$sentence), sep = "")
  cat("\n")
  last <- utils::tail(x$events, 5L)
  if (nrow(last)) cat(paste0("  ", last$word, ": ", last$sentence, collapse = "\n"), "\n", sep = "")
  if (!is.na(x$model)) cat("model: ", x$model, "\n", sep = "")
  invisible(x)
}

print.fedplt_member <- function(x, ...) {
  cat("A ", x$kind, " of a federation, ", sep = "")
  print(status(x))
  invisible(x)
}

wait <- function(x, seconds = Inf) {
  if (!inherits(x, "fedplt_member")) refuse("x is of class ", class(x)[1L], ", but must be a coordinator() or an agent()")
  end <- proc.time()[["elapsed"]] + seconds
  repeat {
    answer_questions()
    served <- serve_costs()
    left <- max(0, end - proc.time()[["elapsed"]])
    slice <- if (served) 0 else if (has_costs()) min(left, 0.01) else if (length(asking$members)) min(left, 0.1) else left
    if (!served) .Call(C_member_wait, x$pointer, if (is.finite(slice)) slice else -1)
    if (left <= slice || !.Call(C_member_status, x$pointer)$running) break
  }
  found <- status(x)
  if (!is.na(found$failure)) refuse(found$failure, status = "failed")
  invisible(found)
}

halt <- function(x) {
  if (!inherits(x, "fedplt_member")) refuse("x is of class ", class(x)[1L], ", but must be a coordinator() or an agent()")
  .Call(C_member_stop, x$pointer)
  invisible(x)
}

# Leads one analysis over the sites and waits for its end; the path of its results without their endings. The agents are those of
# training.
lead_analysis <- function(folder, kind, settings, seconds, ...) {
  values <- list(folder = folder, ...)
  values$run <- values$run %||% .Call(C_federation_next, path.expand(folder))
  out <- values$out %||% "out"
  out <- if (startsWith(out, "/")) out else file.path(folder, out)
  values[c("once", "continue")] <- list(TRUE, FALSE)
  values$analysis <- c(list(kind = kind), settings[!vapply(settings, is.null, NA)])
  leader <- start_member(values, "coordinator", FALSE)
  on.exit(halt(leader), add = TRUE)
  found <- wait(leader, seconds)
  if (!found$finished)
    refuse("the analysis has not ended: ", if (nzchar(found$sentence)) found$sentence else "the time is over", status = "failed")
  if (!file.exists(file.path(out, paste0(kind, ".csv")))) refuse("the analysis has no result: ", found$sentence, status = "failed")
  file.path(out, kind)
}

# A file with the model: a path stays, a fit is written beside R's other temporary files.
model_file <- function(model) {
  if (inherits(model, "fedplt")) {
    path <- tempfile(fileext = ".json")
    writeLines(model$trained$model$json, path, useBytes = TRUE)
    return(path)
  }
  if (!is.character(model) || length(model) != 1L || !file.exists(model))
    refuse("model is ", deparse(model)[1L], ", but must be a fit, or the path of a model.json")
  normalizePath(model)
}

schema_file <- function(schema) {
  if (!is.character(schema) || length(schema) != 1L || !file.exists(schema))
    refuse("schema is ", deparse(schema)[1L], ", but must be the path of a file that declares the columns")
  normalizePath(schema)
}

# The lines of a result, of which so many columns are texts.
analysis_frame <- function(made, texts) csv_frame(paste(readLines(paste0(made, ".csv"), encoding = "UTF-8"), collapse = "\n"), texts)

federation_evaluate <- function(folder, model, ..., grid = NULL, seconds = Inf) {
  made <- lead_analysis(folder, "evaluate", list(model = model_file(model), grid = grid), seconds, ...)
  made <- utils::read.csv(paste0(made, ".csv"), stringsAsFactors = FALSE, check.names = FALSE, na.strings = c("", "-", "nan"))
  names(made) <- tolower(gsub("[^A-Za-z0-9]+", "_", names(made)))
  made
}

federation_describe <- function(folder, schema, ..., by = NULL, grid = NULL, seconds = Inf) {
  analysis_frame(lead_analysis(folder, "describe", list(by = by, grid = grid), seconds, schema = schema_file(schema), ...), 4L)
}

federation_survival <- function(folder, schema, ..., by = NULL, grid = NULL, seconds = Inf) {
  analysis_frame(lead_analysis(folder, "survival", list(by = by, grid = grid), seconds, schema = schema_file(schema), ...), 2L)
}
