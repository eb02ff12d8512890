# SPDX-License-Identifier: Apache-2.0
# What a run tells: one line a step, and one sentence where it stops.

# One line to the terminal and to the chip's log: board, chip, step, what there is to say.
proc say {step text} {
  global chip
  set line "sallyport: $chip(board) $chip(name): $step: $text"
  puts $line
  set log [open [file join $chip(build) flow.log] a]
  puts $log $line
  close $log
}

# Ends the run with a sentence that names the cause and the remedy; nothing has been built yet.
proc give_up {sentence} {
  puts stderr "sallyport: $sentence"
  exit 2
}
