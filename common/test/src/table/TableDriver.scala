// SPDX-License-Identifier: Apache-2.0
package sallyport.common.table

import chisel3._
import chisel3.simulator.PeekPokeAPI

import scala.collection.mutable

/**
 * Drives the ports of a table, cycle by cycle, and checks what every table promises: a result for
 * each lookup, in order, after exactly `latency` cycles, and one response for each row access.
 */
class TableDriver(io: TableIO, clock: Clock, reset: Reset, latency: Int) extends PeekPokeAPI {
  case class Result(key: BigInt, hit: Boolean, row: BigInt)
  case class Response(error: Boolean, row: BigInt)

  private val inFlight = mutable.Queue.fill[Option[BigInt]](latency)(None)
  private var waiting = false
  private var accepted = false
  private var answer = Option.empty[Response]

  /** Resets and steps through the clearing; returns how many cycles it took. */
  def start(): Int = {
    io.lookup.valid.poke(false.B)
    io.table.request.valid.poke(false.B)
    io.clear.poke(false.B)
    reset.poke(true.B)
    clock.step()
    reset.poke(false.B)
    untilReady()
  }

  def untilReady(): Int = {
    var cycles = 0
    while (!io.ready.peek().litToBoolean) {
      step()
      cycles += 1
      assert(cycles < 10000, "the table never becomes ready")
    }
    cycles
  }

  /** One cycle with a lookup in it or without; the result that stood at the ports before it. */
  def step(lookup: Option[BigInt] = None): Option[Result] = {
    io.lookup.valid.poke(lookup.isDefined.B)
    lookup.foreach(key => io.lookup.bits.poke(key.U(io.lookup.bits.getWidth.W)))
    val due = inFlight.dequeue()
    inFlight.enqueue(lookup)
    assert(io.result.valid.peek().litToBoolean == due.isDefined, "results do not come after the latency")
    val result = due.map { key =>
      Result(key, io.result.bits.hit.peek().litToBoolean, io.result.bits.row.peek().litValue)
    }
    if (waiting && io.table.request.ready.peek().litToBoolean) accepted = true
    if (io.table.response.valid.peek().litToBoolean) {
      assert(!waiting && answer.isEmpty, "a response to no request")
      answer =
        Some(Response(io.table.response.bits.error.peek().litToBoolean, io.table.response.bits.row.peek().litValue))
    }
    clock.step()
    if (accepted) {
      io.table.request.valid.poke(false.B)
      waiting = false
      accepted = false
    }
    result
  }

  /** Puts a row access to the table; `response` has its answer when it is there. */
  def request(write: Boolean, index: Int, row: BigInt = 0): Unit = {
    answer = None
    waiting = true
    io.table.request.bits.write.poke(write.B)
    io.table.request.bits.index.poke(index.U)
    io.table.request.bits.row.poke(row.U)
    io.table.request.bits.table.poke(0.U)
    io.table.request.valid.poke(true.B)
  }

  def response: Option[Response] = answer

  /** Steps, with `lookups` going on, until the row access is answered. */
  def finish(lookups: () => Option[BigInt] = () => None)(check: Result => Unit = _ => ()): Response = {
    var cycles = 0
    while (answer.isEmpty) {
      step(lookups()).foreach(check)
      cycles += 1
      assert(cycles < 3000, "the row access is never answered")
    }
    answer.get
  }

  def writeRow(index: Int, row: BigInt): Response = {
    request(write = true, index, row)
    finish()()
  }

  def readRow(index: Int): Response = {
    request(write = false, index)
    finish()()
  }

  /** The results of lookups made one after the other, without a pause. */
  def lookup(keys: Seq[BigInt]): Seq[Result] =
    (keys.map(Option(_)) ++ Seq.fill(latency)(None)).flatMap(key => step(key))
}
