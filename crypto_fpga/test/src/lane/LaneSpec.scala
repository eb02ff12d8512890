// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.lane

import chisel3._
import sallyport.common.simulation.LongForm
import sallyport.common.stream.{Pace, Packet, StreamBench, StreamHarness, StreamMatrix}
import sallyport.crypto.dispatch.OrderArbiter
import sallyport.crypto.suite.Suite
import sallyport.crypto.support.Bytes

import scala.util.Random

class LaneSpec extends StreamMatrix {

  private def harness(encrypt: Boolean) = new StreamHarness(new LaneJob, new LaneResult, depth = 8192)(ends => {
    val lane = LaneWay(LaneConfig(encrypt), Module(new Lane(LaneConfig(encrypt))).io)
    val inside = RegInit(false.B)
    val fast = Suite.is(ends.in.bits.meta.suite)(_.fast)
    // As LanePicker and dispatch do it: chosen by the room of the cycle before, not in the two
    // cycles behind the last choice, and then the packet waits at `in`.
    val may = RegInit(false.B)
    val chosen = Wire(Bool())
    val recent = chosen || RegNext(chosen, false.B)
    val picks = lane.room.map(room => RegNext(room && !recent, false.B))
    chosen := !may && ends.in.valid && Mux(fast, picks(1), picks(0))
    may := chosen || (may && !(lane.in.fire && ends.in.bits.last))
    lane.in <> ends.in
    lane.in.valid := ends.in.valid && may
    ends.in.ready := lane.in.ready && may
    when(ends.in.fire) { inside := !ends.in.bits.last }
    ends.out <> lane.out

    val order = Module(new OrderArbiter(1, fast => LaneConfig(encrypt).packets(fast)))
    order.io.failed := 0.U
    order.io.in.valid := ends.in.fire && !inside
    order.io.in.bits.target := 1.U
    order.io.in.bits.fast := fast
    order.io.in.bits.epoch := false.B
    order.io.offer(0) := lane.offer
    lane.grant := order.io.grant(0)
    order.io.out.ready := lane.out.fire && lane.out.bits.last

    // A packet of this SA zeroizes the lane it enters.
    lane.zeroize := ends.in.fire && ends.in.bits.meta.meta.sa(15, 1) === zeroizer.U
    ends.events(0) := lane.busy
  })

  private val zeroizer = 0x5ead

  /** A packet as it goes into the lane and what must come out. */
  private case class Trial(job: EspJob, in: Packet, out: Packet)

  private def encryption(job: EspJob, payload: Seq[Byte]): Trial = {
    val sealedPacket = job.counterIv.seal(job.text(payload))
    Trial(
      job,
      Packet(payload, job.jobBits(payload.length, inbound = false)),
      Packet(sealedPacket, job.resultBits(Verdict.ok, sealedPacket.length))
    )
  }

  /** An ESP packet whose payload is to be delivered. */
  private def decryption(job: EspJob, payload: Seq[Byte], padding: Option[Seq[Byte]] = None): Trial = {
    val esp = job.seal(job.text(payload, padding))
    Trial(
      job,
      Packet(esp, job.jobBits(esp.length, inbound = true)),
      Packet(payload, job.resultBits(Verdict.ok, payload.length))
    )
  }

  /**
   * Packets of each class, fast ones last; within a class the order is kept. The class is the
   * lowest bit of the SA.
   */
  private def byClass(packets: Seq[Packet]): Seq[Packet] = packets.sortBy(p => ((p.meta >> EspModel.saBit) & 1).toInt)

  private def play(
      bench: StreamBench[LaneJob, LaneResult],
      trials: Seq[Trial],
      idle: Int,
      pressure: Int,
      clue: String
  ): Unit = {
    bench.load(trials.map(_.in))
    val longest = trials.map(_.in.bytes.length).max
    bench.run(idle, pressure, seed = trials.length, settle = 2000 + 3 * longest, limit = 1000000)
    comparePackets(byClass(bench.received), byClass(trials.map(_.out)), clue)
  }

  /**
   * Cycles a packet when the lane has plenty of them, and from the first beat in to the last beat
   * out of one alone.
   */
  private def pace(bench: StreamBench[LaneJob, LaneResult], make: Random => Trial, many: Int): (Int, Int) = {
    val random = new Random(many)
    val trials = Seq.fill(2 * many)(make(random))
    val cycles = Seq(trials.take(1), trials.take(many), trials).map { some =>
      play(bench, some, Pace.Always, Pace.Always, "pace")
      bench.cycles
    }
    play(bench, trials.take(1), Pace.Always, Pace.Always, "busy")
    assert(bench.events(0) - bench.cycles <= 2, "a lane is busy after its last packet has left")
    ((cycles(2) - cycles(1)) / many, cycles(0))
  }

  /** Inner packets of frames of 64, 128, 512, 1400 and 9000 bytes; the short form has the ends. */
  private val paceLengths = if (LongForm.asked) Seq(46, 110, 494, 1382, 8982) else Seq(46, 8982)

  /** Suites whose pace is taken; the short form has a fast one and the slowest. */
  private val pacedSuites = if (LongForm.asked) Suite.all else Seq("aes256gcm16", "sm4-sm3").map(Suite.named)
  private val mixedSuites = if (LongForm.asked) Seq("sm4-sm3", "sm4ctr-sm3") else Seq("sm4-sm3")

  /** The pace of one suite at each length. */
  private def paces(bench: StreamBench[LaneJob, LaneResult], suite: String)(
      make: (EspJob, Seq[Byte]) => Trial
  ): Seq[(Int, Int)] = {
    val measured = paceLengths.map { length =>
      pace(
        bench,
        random => make(EspModel.randomJob(random, Seq(Suite.named(suite))), Bytes.random(random, length).toSeq),
        if (length > 2000) LaneSpec.jumbos else if (length > 1000) 80 else 160
      )
    }
    info(s"$suite: cycles loaded and alone at ${paceLengths.mkString(", ")} B: ${measured.mkString(" ")}")
    val jumbo = measured.last._1
    assert(jumbo <= jumboShare, s"$suite: four lanes do not carry 9000-byte frames at the line rate")
    measured
  }

  /**
   * Cycles at 300 MHz in which one lane of four must do a 9000-byte frame: the shortest frame in
   * which ESP carries it is that of GCM, 9054 bytes beside preamble and gap.
   */
  private val jumboShare = 4 * (9054 + 20) * 8 * 3 / 1000

  /**
   * Frames of 64 and 9000 bytes in turn: the short ones wait behind the long ones, and must not
   * take their places.
   */
  private def checkMixture(bench: StreamBench[LaneJob, LaneResult], suite: String)(
      make: (EspJob, Seq[Byte]) => Trial
  ): Unit = {
    val lengths = Iterator.continually(Seq(46, 8982)).flatten
    val (loaded, _) = pace(
      bench,
      random => make(EspModel.randomJob(random, Seq(Suite.named(suite))), Bytes.random(random, lengths.next()).toSeq),
      2 * (LaneSpec.jumbos - 1)
    )
    info(s"$suite: $loaded cycles a packet at 46 and 8982 B in turn")
    assert(2 * loaded <= jumboShare + 4 * (118 + 20) * 8 * 3 / 1000)
  }

  private def flip(bytes: Seq[Byte], bit: Int): Seq[Byte] =
    bytes.updated(bit / 8, (bytes(bit / 8) ^ 1 << (bit % 8)).toByte)

  /**
   * Packets that zeroize the lane among others: they and some before them are lost; no other is,
   * and none is missing.
   */
  private def checkZeroize(bench: StreamBench[LaneJob, LaneResult])(make: (EspJob, Seq[Byte]) => Trial): Unit = {
    val random = new Random(5)
    val every = 150
    val trials = Seq.tabulate(3 * every) { i =>
      val job = EspModel.randomJob(random, Suite.all)
      val sa = 2 * (if (i % every == every - 1) zeroizer else i) + job.sa % 2
      make(job.copy(sa = sa), Bytes.random(random, 1 + random.nextInt(300)).toSeq)
    }
    bench.load(trials.map(_.in))
    for (idle <- Pace.all) {
      bench.run(idle, Pace.Bursts, seed = 6, settle = 3000)
      val sent = trials.zipWithIndex.sortBy(_._1.job.sa % 2)
      val received = byClass(bench.received)
      assert(received.size == trials.size)
      val lost = received.zip(sent).filter { case (got, (trial, _)) => got != trial.out }
      for ((got, (trial, i)) <- lost)
        assert(
          got == EspModel.refused(trial.job.resultBits(Verdict.zeroized, trial.in.bytes.length)),
          s"packet $i, idle pace $idle"
        )
      val places = lost.map(_._2._2)
      assert((every - 1 until trials.size by every).forall(places.contains), s"idle pace $idle: lost $places")
      assert(
        places.forall(i => every - 1 - i % every <= LaneConfig(encrypt = true).packets),
        s"idle pace $idle: a packet that cannot have been in the lane is lost: $places"
      )
    }
  }

  /**
   * Every length around every place where a word, a block or a beat ends, of every suite, in every
   * rhythm; random lengths. The short form has an eighth of the lengths in each rhythm, another
   * each time.
   */
  private def checkMatrix(bench: StreamBench[LaneJob, LaneResult], random: Random)(make: Int => Trial): Unit = {
    val lengths = (1 to 200) ++ (440 to 520) ++ Seq(1382, 1400, 1500, 4096, 9000, 9500)
    for (idle <- Pace.all; pressure <- Pace.all)
      play(
        bench,
        random.shuffle(lengths).take(if (LongForm.asked) lengths.size else lengths.size / 8).map(make),
        idle,
        pressure,
        s"idle pace $idle, pressure pace $pressure"
      )
    for (round <- 1 to 4)
      play(
        bench,
        Seq.fill(24)(make(1 + random.nextInt(9500))),
        Pace.Always,
        round % 5,
        s"random lengths, round $round"
      )
  }

  private def length(random: Random)(at: Int): Seq[Byte] = Bytes.random(random, at).toSeq

  test("an encrypting lane") {
    withBench(harness(encrypt = true)) { bench =>
      val random = new Random(3)
      def job() = EspModel.randomJob(random, Suite.all)
      for (suite <- Suite.all)
        play(
          bench,
          random.shuffle(1 to 130).map(n => encryption(EspModel.randomJob(random, Seq(suite)), length(random)(n))),
          Pace.Always,
          Pace.Always,
          suite.name
        )
      checkMatrix(bench, random)(n => encryption(job(), length(random)(n)))
      play(
        bench,
        for (n <- 1 to 100; own = job(); good = encryption(own, length(random)(n)))
          yield
            if (n % 3 != 0) good
            else good.copy(
              in = good.in.copy(error = true),
              out = EspModel.refused(own.resultBits(Verdict.truncated, n))
            ),
        Pace.Always,
        Pace.Half,
        "broken packets"
      )
      checkZeroize(bench)(encryption)
      for (suite <- pacedSuites) paces(bench, suite.name)(encryption)
      for (suite <- mixedSuites) checkMixture(bench, suite)(encryption)
    }
  }

  test("a decrypting lane") {
    withBench(harness(encrypt = false)) { bench =>
      val random = new Random(4)
      def payload(n: Int) = length(random)(n)
      def job() = EspModel.randomJob(random, Suite.all)
      def ascending(n: Int) = (1 to n).map(_.toByte)

      /** A pad of at least so many bytes that ends the text where the suite wants it. */
      def longPad(job: EspJob, length: Int, atLeast: Int) = {
        val to = job.suite.padTo
        val n = atLeast + (to - (length + atLeast + 2) % to) % to
        ascending(if (n > 255) n - to else n)
      }
      def refuse(esp: Seq[Byte], job: EspJob, verdict: Verdict.Type, error: Boolean = false) =
        Trial(
          job,
          Packet(esp, job.jobBits(esp.length, inbound = true), error),
          EspModel.refused(job.resultBits(verdict, esp.length))
        )

      val rhythms = Seq((Pace.Always, Pace.Always), (Pace.Half, Pace.Bursts))
      var checks = 0

      /** Good packets between, which must not notice. The short form has the rhythms in turn. */
      def check(trials: Seq[Trial], clue: String) = {
        val mixed =
          random.shuffle(trials ++ Seq.fill(trials.size / 4)(decryption(job(), payload(1 + random.nextInt(150)))))
        checks += 1
        for ((idle, pressure) <- if (LongForm.asked) rhythms else Seq(rhythms(checks % 2)))
          play(bench, mixed, idle, pressure, s"$clue, idle pace $idle, pressure pace $pressure")
      }

      for (suite <- Suite.all)
        play(
          bench,
          random.shuffle(1 to 130).map(n => decryption(EspModel.randomJob(random, Seq(suite)), payload(n))),
          Pace.Always,
          Pace.Always,
          suite.name
        )
      checkMatrix(bench, random)(n => decryption(job(), payload(n)))

      // Every pad length that is legal, on payloads that end anywhere in a block.
      check(
        for (atLeast <- 0 to 240; length = 1 + random.nextInt(70); own = job())
          yield decryption(own, payload(length), Some(longPad(own, length, atLeast))),
        "pad lengths"
      )

      // One wrong bit of the ICV, each of every suite's; then any bit at all.
      for (suite <- Suite.all)
        check(
          for (
            own <- Seq(EspModel.randomJob(random, Seq(suite))); bit <- 0 until 8 * own.icvBytes;
            esp = own.seal(own.text(payload(20 + bit / 4)))
          )
            yield refuse(flip(esp, 8 * (esp.length - own.icvBytes) + bit), own, Verdict.badIcv),
          s"ICV bits of ${suite.name}"
        )
      check(
        for (_ <- 1 to 500; own = job(); esp = own.seal(own.text(payload(1 + random.nextInt(150)))))
          yield refuse(flip(esp, random.nextInt(8 * esp.length)), own, Verdict.badIcv),
        "packet bits"
      )

      // One wrong byte of the pad, each of every length; and the ICV is judged before it.
      def streamJob() = EspModel.randomJob(random, Suite.all.filter(_.padTo == 4))
      check(
        for (
          n <- 1 to 255; length = (2 * 256 - n - 2) % 4 + 4 * random.nextInt(20); wrong = random.nextInt(n);
          own = streamJob()
        )
          yield refuse(
            own.seal(own.text(payload(length), Some(flip(ascending(n), 8 * wrong + random.nextInt(8))))),
            own,
            Verdict.badPadding
          ),
        "pad bytes"
      )
      val zeros = Seq.fill(2)(0.toByte)
      val (short, other) = (streamJob(), streamJob())
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
          n <- 1 to 16; own = job(); size = n * own.suite.padTo; pad = ascending(size - 2);
          (length, verdict) <- Seq((size - 2, Verdict.dummy), (size - 1, Verdict.truncated), (255, Verdict.truncated))
          if size <= 256
        ) yield refuse(own.seal(own.text(Seq(), Some(pad), Some(length))), own, verdict),
        "pad lengths beyond the payload"
      )
      check(
        for (length <- 1 to 40; own = job().copy(nextHeader = 59))
          yield refuse(own.seal(own.text(payload(length))), own, Verdict.dummy),
        "dummies"
      )

      // Lengths that no packet of the suite has, and packets the input calls broken.
      check(
        for (
          length <- 1 to 200; own = job(); overhead = own.suite.headBytes + own.icvBytes
          if length < overhead + own.suite.padTo || (length - overhead) % own.suite.padTo != 0
        )
          yield refuse(payload(length), own, Verdict.truncated),
        "wrong lengths"
      )
      check(
        for (length <- 1 to 100; own = job())
          yield refuse(own.seal(own.text(payload(length))), own, Verdict.truncated, error = true),
        "broken packets"
      )

      checkZeroize(bench)((job, payload) => decryption(job, payload))
      for (suite <- pacedSuites) paces(bench, suite.name)((job, payload) => decryption(job, payload))
      for (suite <- mixedSuites)
        checkMixture(bench, suite)((job, payload) => decryption(job, payload))
    }
  }

  test("a lane that cannot be built says why") {
    def refusal(config: => LaneConfig) = intercept[IllegalArgumentException](config).getMessage
    assert(refusal(LaneConfig(encrypt = true, slots = 48)).contains("a power of two, not 48"))
    assert(refusal(LaneConfig(encrypt = true, bufferBeats = 256)).contains("fits each ring, not 256"))
    assert(refusal(LaneConfig(encrypt = true, suites = Seq())).contains("without a suite"))
  }
}

private object LaneSpec {

  /**
   * Packets of 9000 bytes that the slow ring holds at a time, which is what a long run does in the
   * time of one.
   */
  val jumbos = 25
}
