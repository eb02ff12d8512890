package sallyport.crypto

import chisel3._
import chisel3.util._
import sallyport.common._
import scala.util.Random

class LaneSpec extends StreamMatrix {

  private def harness(encrypt: Boolean) = new StreamHarness(new LaneJob, new LaneResult)(ends => {
    val lane = Module(new Lane(LaneConfig(encrypt)))
    lane.io.in <> ends.in
    ends.out <> lane.io.out
    lane.io.zeroize := false.B
  })

  /** A packet as it goes into the lane and what must come out. */
  private case class Trial(in: Packet, out: Packet)

  private def encryption(job: EspJob, payload: Seq[Byte]): Trial = {
    val sealedPacket = job.seal(job.text(payload))
    Trial(Packet(payload, job.jobBits(payload.length)), Packet(sealedPacket, job.resultBits(Verdict.ok, sealedPacket.length)))
  }

  /** An ESP packet whose payload is to be delivered. */
  private def decryption(job: EspJob, payload: Seq[Byte], padding: Option[Seq[Byte]] = None): Trial = {
    val esp = job.seal(job.text(payload, padding))
    Trial(Packet(esp, job.jobBits(esp.length)), Packet(payload, job.resultBits(Verdict.ok, payload.length)))
  }

  private def play(bench: StreamBench[LaneJob, LaneResult], trials: Seq[Trial], idle: Int, pressure: Int, clue: String): Unit = {
    bench.load(trials.map(_.in))
    bench.run(idle, pressure, seed = trials.length, settle = 2500)
    comparePackets(bench.received, trials.map(_.out), clue)
  }

  /** Cycles a packet when the lane has plenty of them, and from the first beat in to the last beat out of one alone. */
  private def pace(bench: StreamBench[LaneJob, LaneResult], make: Random => Trial, many: Int): (Int, Int) = {
    val random = new Random(many)
    val trials = Seq.fill(2 * many)(make(random))
    val cycles = Seq(trials.take(1), trials.take(many), trials).map { some =>
      play(bench, some, Pace.Always, Pace.Always, "pace")
      bench.cycles
    }
    assert((cycles(2) - cycles(1)) % many == 0, "the pace is not even")
    ((cycles(2) - cycles(1)) / many, cycles(0))
  }

  /** Inner packets of frames of 64, 128, 512, 1400, 1518 and 9000 bytes. */
  private val paceLengths = Seq(46, 110, 494, 1382, 1500, 8982)

  private def checkPace(bench: StreamBench[LaneJob, LaneResult], expected: Seq[(Int, Int)])(make: (EspJob, Seq[Byte]) => Trial): Unit = {
    val measured = paceLengths.map { length =>
      pace(bench, random => make(EspModel.randomJob(random), Bytes.random(random, length).toSeq), if (length > 2000) 6 else 40)
    }
    info(s"cycles loaded and alone at ${paceLengths.mkString(", ")} B: ${measured.mkString(" ")}")
    assert(measured == expected)
  }

  test("an encrypting lane") {
    withBench(harness(encrypt = true)) { bench =>
      val random = new Random(3)
      def trial(length: Int) = encryption(EspModel.randomJob(random), Bytes.random(random, length).toSeq)

      // Every length around every place where a word, a block or a beat ends, in every rhythm.
      val matrix = random.shuffle((1 to 200) ++ (440 to 520) ++ Seq(1382, 1400, 1500, 4096, 9000, 9559, 9560)).map(trial)
      for (idle <- Pace.all; pressure <- Pace.all) play(bench, matrix, idle, pressure, s"idle pace $idle, pressure pace $pressure")
      // Random lengths.
      for (round <- 1 to 4)
        play(bench, Seq.fill(16)(trial(1 + random.nextInt(9560))), Pace.Always, round % 5, s"random lengths, round $round")

      checkPace(bench, Seq((5, 44), (9, 54), (33, 114), (89, 254), (96, 271), (564, 1441)))(encryption)
    }
  }

  test("a decrypting lane") {
    withBench(harness(encrypt = false)) { bench =>
      val random = new Random(4)
      def payload(length: Int) = Bytes.random(random, length).toSeq
      def job() = EspModel.randomJob(random)
      def trial(length: Int) = decryption(job(), payload(length))
      def ascending(n: Int) = (1 to n).map(_.toByte)

      /** A pad of n + 4k bytes that ends the text on a word. */
      def longPad(length: Int, atLeast: Int) = {
        val n = atLeast + (4 - (length + atLeast + 2) % 4) % 4
        ascending(if (n > 255) n - 4 else n)
      }
      def refuse(esp: Seq[Byte], job: EspJob, verdict: Verdict.Type, length: Int, nextHeader: Int) =
        Trial(Packet(esp, job.jobBits(esp.length)), EspModel.refused(job.resultBits(verdict, length, nextHeader)))

      def bench1(trials: Seq[Trial], clue: String) =
        for ((idle, pressure) <- Seq((Pace.Always, Pace.Always), (Pace.Half, Pace.Bursts)))
          play(bench, trials, idle, pressure, s"$clue, idle pace $idle, pressure pace $pressure")

      val matrix = random.shuffle((1 to 200) ++ (440 to 520) ++ Seq(1382, 1400, 1500, 4096, 9000, 9559, 9560)).map(trial)
      for (idle <- Pace.all; pressure <- Pace.all) play(bench, matrix, idle, pressure, s"idle pace $idle, pressure pace $pressure")
      for (round <- 1 to 4)
        play(bench, Seq.fill(16)(trial(1 + random.nextInt(9560))), Pace.Always, round % 5, s"random lengths, round $round")

      // Every pad length that is legal, on payloads that end anywhere in a block.
      bench1(
        for (atLeast <- 0 to 252; length = 1 + random.nextInt(70); pad = longPad(length, atLeast))
          yield decryption(job(), payload(length), Some(pad)),
        "pad lengths"
      )

      checkPace(bench, Seq((5, 46), (9, 56), (33, 116), (89, 256), (96, 273), (564, 1443)))((job, payload) => decryption(job, payload))
    }
  }
}
