// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.scaling

import chisel3.simulator.ChiselSim
import mainargs.{ParserForClass, arg, main}
import sallyport.common.elaborate.Elaboration
import sallyport.crypto.chip.LinkedChip
import sallyport.crypto.config.CryptoConfig
import sallyport.crypto.suite.Suite

/**
 * The builds and suites to measure.
 *
 * @param lanes
 *   a direction: a build each; the first is what the others are compared with
 */
@main
case class LaneScalingOptions(
    @arg(doc = "builds: lanes a direction, separated by commas; the first is the measure of the others") lanes: String =
      "1,2,4,6,8",
    @arg(doc = "suites by strongSwan's names, separated by commas") suites: String = "aes256gcm16,sm4-sm3",
    @arg(doc = "bytes of the inner packets, separated by commas") lengths: String = "46,1382"
)

/**
 * Prints, as a table in Markdown, how the chip's throughput grows with its lanes, between testers
 * on its two links and both directions at once; exits with 1 if a build is below
 * [[LaneScaling.required]] of linear growth, limited by the links.
 */
object LaneScaling extends ChiselSim {

  /** Of the linear growth from the first build, or of the link if that is less. */
  val required: Double = 0.95
  private val megahertz = 300.0

  private case class Result(suite: Suite, length: Int, direction: String, lanes: Int, cycles: PacketCycles)

  def main(args: Array[String]): Unit = {
    if (!grows(Elaboration.parse(ParserForClass[LaneScalingOptions], args))) {
      Console.err.println(s"a build falls below $required of linear growth or of the link")
      sys.exit(1)
    }
  }

  /** Prints the table; false if a build is below [[LaneScaling.required]]. */
  def grows(options: LaneScalingOptions): Boolean = {
    val (builds, lengths) =
      try {
        val suites = options.suites.split(',').toSeq.map(Suite.named)
        val builds =
          options.lanes.split(',').toSeq.map(n => CryptoConfig(saBits = 4, lanes = n.toInt, suites = suites))
        (builds, options.lengths.split(',').toSeq.map(_.toInt))
      } catch { case error: IllegalArgumentException => Elaboration.refuse(error.getMessage) }
    val results = builds.flatMap(measure(_, lengths))
    val suites = builds.head.suites
    val rows = results.groupBy(r => (suites.indexOf(r.suite), r.length, r.direction)).toSeq.sortBy(_._1).map(_._2)
    print(builds.map(_.lanes), rows)
  }

  private def measure(config: CryptoConfig, lengths: Seq[Int]): Seq[Result] = {
    var results = Seq.empty[Result]
    simulate(new LoopHarness(LinkedChip(config)(_))) { dut =>
      val trial = new ScalingTrial(dut)
      results = for {
        suite <- config.suites
        length <- lengths
        both = trial(suite, length)
        (direction, cycles) <- Seq("encrypt" -> both._1, "decrypt" -> both._2)
      } yield Result(suite, length, direction, config.lanes, cycles)
    }
    for (r <- results)
      Console.err.println(
        f"${r.lanes} lanes, ${r.suite.name}, ${r.length} B, ${r.direction}: ${r.cycles.packet}%.3f cycles, link ${r.cycles.link}%.3f"
      )
    results
  }

  /**
   * A line a suite, length and direction, with packet rate and inner Gb/s of each build; true if
   * all are good.
   */
  private def print(lanes: Seq[Int], rows: Seq[Seq[Result]]): Boolean = {
    def rate(length: Int, cycles: Double) =
      f"${megahertz / cycles}%.2f (${8 * length * megahertz / 1000 / cycles}%.1f)"
    def line(cells: Seq[String]) = println(cells.mkString("| ", " | ", " |"))
    line(
      Seq("suite", "inside", "direction") ++ lanes.map(n => s"$n ${if (n == 1) "lane" else "lanes"}") ++
        Seq("the link alone", "least of the bound")
    )
    line(Seq.fill(lanes.length + 5)("---"))
    val worst = for (row <- rows) yield {
      val base = row.head
      val shares = row.map(r => (base.cycles.packet * base.lanes / r.lanes).max(r.cycles.link) / r.cycles.packet)
      line(
        Seq(base.suite.name, s"${base.length} B", base.direction) ++
          row.map(r => rate(r.length, r.cycles.packet)) ++
          Seq(rate(base.length, base.cycles.link), f"${100 * shares.min}%.1f %%")
      )
      shares.min
    }
    worst.forall(_ >= required)
  }
}
