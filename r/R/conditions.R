# Failures as conditions of class fedplt_error. `status` is the word of the library, "bad-value" for example.

fedplt_error <- function(status, sentence, call = NULL) {
  structure(class = c(paste0("fedplt_", gsub("-", "_", status, fixed = TRUE)), "fedplt_error", "error", "condition"),
            list(message = sentence, call = call, status = status))
}

# Called by the glue with the sentence of the library.
signal_failure <- function(status, sentence) stop(fedplt_error(status, sentence))

refuse <- function(..., status = "bad-value") stop(fedplt_error(status, paste0(...)))

# A person's function as the library may call it: no error and no interrupt leaves it by a jump.
guarded <- function(f) {
  force(f)
  function(...) {
    tryCatch(f(...),
             error = function(e) structure(conditionMessage(e), class = "fedplt_failed"),
             interrupt = function(i) structure("interrupted", class = "fedplt_interrupted"))
  }
}

# Lets an interrupt through: R looks for one only after a thousand evaluations, and those of long vectors take long.
look <- function() .Call(C_look)
