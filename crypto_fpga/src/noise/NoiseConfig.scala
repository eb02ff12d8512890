// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.noise

/**
 * How the bits of a board's noise chip are taken and tested (NIST SP 800-90B 4.4).
 *
 * @param entropy
 *   least min-entropy of a sample, in bits, as assessed for the noise chip: above 0, at most 1
 * @param window
 *   samples of the adaptive proportion test; 1024 is the standard's for bits
 * @param sampleCycles
 *   cycles from one sample to the next; 300 is 1 Mb/s at 300 MHz
 */
case class NoiseConfig(entropy: Double = 0.5, window: Int = 1024, sampleCycles: Int = 300) {
  require(entropy > 0 && entropy <= 1, s"a bit has an entropy above 0 and at most 1, not $entropy")
  require(window >= 2 && sampleCycles >= 4, "a window has 2 samples or more, and a sample takes 4 cycles or more")
  import NoiseConfig.falseAlarm

  /** As many equal samples on end fail the repetition count test (SP 800-90B 4.4.1). */
  val repetitions: Int = 1 + math.ceil(-math.log(falseAlarm) / math.log(2) / entropy).toInt

  /**
   * As many samples of a window that equal its first, itself among them, fail the adaptive
   * proportion test (SP 800-90B 4.4.2). The standard's formula counts the first as if it could
   * differ; this is 2 + critbinom(window - 1, 2^-entropy, 1 - falseAlarm), as jitterentropy has it,
   * and no more than a window has.
   */
  val proportion: Int = {
    val others = window - 1
    val likeliest = math.pow(2, -entropy)
    // The probability of k of the others, from that of k - 1, in logarithms: that of 0 may be too
    // small for a Double.
    val exactly = (1 to others).scanLeft(others * math.log1p(-likeliest)) { (before, k) =>
      before + math.log((others - k + 1).toDouble / k) + math.log(likeliest) - math.log1p(-likeliest)
    }
    // Summed from the far end, where numbers are small: the probability of k and more.
    val atLeast = exactly.map(math.exp).scanRight(0.0)(_ + _)
    1 + (1 to others).find(k => atLeast(k) <= falseAlarm).getOrElse(others)
  }

  /** Entropy of a word of 32 samples at least, in whole bits. */
  val wordEntropy: Int = (32 * entropy).toInt
}

object NoiseConfig {

  /** How often a good source may fail a test, per sample or window. */
  val falseAlarm: Double = math.pow(2, -30)
}
