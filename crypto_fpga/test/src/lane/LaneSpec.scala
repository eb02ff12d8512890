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
    // A packet of this SA zeroizes the lane it enters.
    lane.io.zeroize := ends.in.fire && ends.in.bits.meta.meta.sa === zeroizer.U
    ends.events(0) := lane.io.busy
  })

  private val zeroizer = 0xdead

  /** A packet as it goes into the lane and what must come out. */
  private case class Trial(in: Packet, out: Packet)

  private def encryption(job: EspJob, payload: Seq[Byte]): Trial = {
    val sealedPacket = job.seal(job.text(payload))
    Trial(
      Packet(payload, job.jobBits(payload.length)),
      Packet(sealedPacket, job.resultBits(Verdict.ok, sealedPacket.length))
    )
  }

  /** An ESP packet whose payload is to be delivered. */
  private def decryption(job: EspJob, payload: Seq[Byte], padding: Option[Seq[Byte]] = None): Trial = {
    val esp = job.seal(job.text(payload, padding))
    Trial(Packet(esp, job.jobBits(esp.length)), Packet(payload, job.resultBits(Verdict.ok, payload.length)))
  }

  private def play(
      bench: StreamBench[LaneJob, LaneResult],
      trials: Seq[Trial],
      idle: Int,
      pressure: Int,
      clue: String
  ): Unit = {
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
    play(bench, trials.take(1), Pace.Always, Pace.Always, "busy")
    assert(bench.events(0) - cycles(0) <= 2, "a lane is busy after its last packet has left")
    assert((cycles(2) - cycles(1)) % many == 0, "the pace is not even")
    ((cycles(2) - cycles(1)) / many, cycles(0))
  }

  /** Inner packets of frames of 64, 128, 512, 1400, 1518 and 9000 bytes. */
  private val paceLengths = Seq(46, 110, 494, 1382, 1500, 8982)

  private def checkPace(
      bench: StreamBench[LaneJob, LaneResult],
      expected: Seq[(Int, Int)]
  )(make: (EspJob, Seq[Byte]) => Trial): Unit = {
    val measured = paceLengths.map { length =>
      pace(
        bench,
        random => make(EspModel.randomJob(random), Bytes.random(random, length).toSeq),
        if (length > 2000) 6 else 40
      )
    }
    info(s"cycles loaded and alone at ${paceLengths.mkString(", ")} B: ${measured.mkString(" ")}")
    assert(measured == expected)
  }

  private def flip(bytes: Seq[Byte], bit: Int): Seq[Byte] =
    bytes.updated(bit / 8, (bytes(bit / 8) ^ 1 << (bit % 8)).toByte)

  /** Packets that zeroize the lane among others: they and some before them are lost; no other is, and none is missing. */
  private def checkZeroize(bench: StreamBench[LaneJob, LaneResult])(make: (EspJob, Seq[Byte]) => Trial): Unit = {
    val random = new Random(5)
    val jobs = Seq.tabulate(300)(i => EspModel.randomJob(random).copy(sa = if (i % 40 == 39) zeroizer else i))
    val trials = jobs.map(job => make(job, Bytes.random(random, 1 + random.nextInt(300)).toSeq))
    bench.load(trials.map(_.in))
    for (idle <- Pace.all) {
      bench.run(idle, Pace.Bursts, seed = 6)
      val lost = bench.received.zip(trials).zip(jobs).zipWithIndex.filter { case (((got, trial), _), _) =>
        got != trial.out
      }
      for ((((got, trial), job), i) <- lost)
        assert(
          got == EspModel.refused(job.resultBits(Verdict.zeroized, trial.in.bytes.length)),
          s"packet $i, idle pace $idle"
        )
      val places = lost.map(_._2)
      assert(bench.received.size == trials.size)
      assert((39 until 300 by 40).forall(places.contains), s"idle pace $idle: lost $places")
      assert(
        places.forall(i => 39 - i % 40 <= LaneConfig(encrypt = true).slots),
        s"idle pace $idle: a packet that cannot have been in the lane is lost: $places"
      )
    }
  }

  test("an encrypting lane") {
    withBench(harness(encrypt = true)) { bench =>
      val random = new Random(3)
      def trial(length: Int) = encryption(EspModel.randomJob(random), Bytes.random(random, length).toSeq)

      // Every length around every place where a word, a block or a beat ends, in every rhythm.
      val matrix =
        random.shuffle((1 to 200) ++ (440 to 520) ++ Seq(1382, 1400, 1500, 4096, 9000, 9559, 9560)).map(trial)
      for (idle <- Pace.all; pressure <- Pace.all)
        play(bench, matrix, idle, pressure, s"idle pace $idle, pressure pace $pressure")
      // Random lengths.
      for (round <- 1 to 4)
        play(
          bench,
          Seq.fill(16)(trial(1 + random.nextInt(9560))),
          Pace.Always,
          round % 5,
          s"random lengths, round $round"
        )

      play(
        bench,
        for (
          length <- 1 to 100; own = EspModel.randomJob(random);
          good = encryption(own, Bytes.random(random, length).toSeq)
        )
          yield
            if (length % 3 != 0) good
            else Trial(good.in.copy(error = true), EspModel.refused(own.resultBits(Verdict.truncated, length))),
        Pace.Always,
        Pace.Half,
        "broken packets"
      )
      checkZeroize(bench)(encryption)
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
      def refuse(esp: Seq[Byte], job: EspJob, verdict: Verdict.Type, error: Boolean = false) =
        Trial(Packet(esp, job.jobBits(esp.length), error), EspModel.refused(job.resultBits(verdict, esp.length)))

      /** Good packets between, which must not notice. */
      def check(trials: Seq[Trial], clue: String) = {
        val mixed = random.shuffle(trials ++ Seq.fill(trials.size / 4)(trial(1 + random.nextInt(150))))
        for ((idle, pressure) <- Seq((Pace.Always, Pace.Always), (Pace.Half, Pace.Bursts)))
          play(bench, mixed, idle, pressure, s"$clue, idle pace $idle, pressure pace $pressure")
      }

      val matrix =
        random.shuffle((1 to 200) ++ (440 to 520) ++ Seq(1382, 1400, 1500, 4096, 9000, 9559, 9560)).map(trial)
      for (idle <- Pace.all; pressure <- Pace.all)
        play(bench, matrix, idle, pressure, s"idle pace $idle, pressure pace $pressure")
      for (round <- 1 to 4)
        play(
          bench,
          Seq.fill(16)(trial(1 + random.nextInt(9560))),
          Pace.Always,
          round % 5,
          s"random lengths, round $round"
        )

      // Every pad length that is legal, on payloads that end anywhere in a block.
      check(
        for (atLeast <- 0 to 252; length = 1 + random.nextInt(70); pad = longPad(length, atLeast))
          yield decryption(job(), payload(length), Some(pad)),
        "pad lengths"
      )

      // One wrong bit of the ICV, each of the 128, behind texts that end on each word of a block; then any bit at all.
      check(
        for (bit <- 0 until 128; own = job(); esp = own.seal(own.text(payload(20 + bit / 4))))
          yield refuse(flip(esp, 8 * (esp.length - 16) + bit), own, Verdict.badIcv),
        "ICV bits"
      )
      check(
        for (_ <- 1 to 300; own = job(); esp = own.seal(own.text(payload(1 + random.nextInt(150)))))
          yield refuse(flip(esp, random.nextInt(8 * esp.length)), own, Verdict.badIcv),
        "packet bits"
      )

      // One wrong byte of the pad, each of every length; and the ICV is judged before it.
      check(
        for (
          n <- 1 to 255; length = (2 * 256 - n - 2) % 4 + 4 * random.nextInt(20); wrong = random.nextInt(n); own = job()
        )
          yield refuse(
            own.seal(own.text(payload(length), Some(flip(ascending(n), 8 * wrong + random.nextInt(8))))),
            own,
            Verdict.badPadding
          ),
        "pad bytes"
      )
      val zeros = Seq.fill(2)(0.toByte)
      val (short, other) = (job(), job())
      check(
        Seq(
          refuse(short.seal(short.text(payload(4), Some(zeros))), short, Verdict.badPadding),
          refuse(flip(other.seal(other.text(payload(4), Some(zeros))), 200), other, Verdict.badIcv)
        ),
        "a pad of zeros"
      )

      // Pad lengths beyond the payload; nothing inside; next header 59.
      check(
        for (
          size <- 4 to 64 by 4; pad = ascending(size - 2); own = job();
          (length, verdict) <- Seq(
            (size - 2, Verdict.dummy),
            (size - 1, Verdict.truncated),
            (255, Verdict.truncated)
          )
        ) yield refuse(own.seal(own.text(Seq(), Some(pad), Some(length))), own, verdict),
        "pad lengths beyond the payload"
      )
      check(
        for (length <- 1 to 40; own = job().copy(nextHeader = 59))
          yield refuse(own.seal(own.text(payload(length))), own, Verdict.dummy),
        "dummies"
      )

      // Lengths that no packet has, and packets the input calls broken.
      check(
        for (length <- (1 to 35) ++ (37 to 200).filter(_ % 4 != 0))
          yield refuse(payload(length), job(), Verdict.truncated),
        "wrong lengths"
      )
      check(
        for (length <- 1 to 100; own = job())
          yield refuse(own.seal(own.text(payload(length))), own, Verdict.truncated, error = true),
        "broken packets"
      )

      checkZeroize(bench)((job, payload) => decryption(job, payload))
      checkPace(bench, Seq((5, 46), (9, 56), (33, 116), (89, 256), (96, 273), (564, 1443)))((job, payload) =>
        decryption(job, payload)
      )
    }
  }

  test("a lane that cannot be built says why") {
    def refusal(config: => LaneConfig) = intercept[IllegalArgumentException](config).getMessage
    assert(refusal(LaneConfig(encrypt = true, slots = 12)).contains("a power of two, not 12"))
    assert(refusal(LaneConfig(encrypt = true, bufferBeats = 128)).contains("so that a 9600-byte packet fits, not 128"))
  }
}
