# Costs that are functions of R.

fedplt_optim <- function(value, gradient, dimension, agents = 1, start = NULL, control = fedplt_control()) {
  for (one in list(value, gradient)) if (!is.function(one)) refuse("value and gradient must be functions of (x, agent)")
  number <- function(f) guarded(function(x, agent) as.double(f(x, agent)))
  if (!is.null(start) && length(start) != dimension) refuse("start has ", length(start), " numbers, but there are ", dimension, " coordinates")
  control$threads <- 1 # R's functions run on R's main thread
  values <- run_settings(control, NULL)
  given <- control$settings
  names(given) <- setting_name(names(given))
  values[names(given)] <- given
  settings <- make_settings(values, own_data = FALSE)
  costs <- list(as.double(dimension), as.double(agents), number(value), number(gradient))
  trained <- .Call(C_train, settings, NULL, costs, if (!is.null(start)) as.double(start), observer_of(control))
  trained$history <- as.data.frame(trained$history)
  trained$choices <- as.data.frame(trained$choices, stringsAsFactors = FALSE)
  converged <- trained$outcome %in% c("converged", "stalled") || !(trained$target > 0)
  if (!converged) warning(trained$sentence, call. = FALSE)
  structure(class = "fedplt_optim", list(par = trained$x, rounds = trained$rounds, converged = converged,
                                         message = trained$sentence, history = trained$history, choices = trained$choices))
}

print.fedplt_optim <- function(x, ...) {
  cat(x$message, "\n", sep = "")
  print(x$par, ...)
  invisible(x)
}
