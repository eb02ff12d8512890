package sallyport.crypto

object HashEngine {

  /** Cycles from `read` to `beat`. */
  val readLatency = 2

  /** Bits of a length in bytes. */
  val lengthBits = 14

  /** Cycles for which `wipe` is held: every row of every memory, and longer than a unit is on its way. */
  def wipeCycles(slots: Int): Int = math.max(slots, 160)
}
