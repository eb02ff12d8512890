// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.tracking

import chisel3.util._
import sallyport.common.stream.PacketStream

/**
 * Parameters of what follows datagrams whose fragments go on as fragments.
 *
 * @param sets       rows of each of the [[FragmentTable.ways]] ways of a table, a power of two
 * @param ringBeats  fragments that wait for their first one, in 64-byte beats, a power of two
 * @param queueBeats fragments that wait to be looked at, in 64-byte beats, a power of two
 */
case class TrackerConfig(sets: Int = 512, ringBeats: Int = 512, queueBeats: Int = 512) {
  require(
    isPow2(sets) && sets >= (1 << TrackerConfig.markBits) && sets <= (1 << 16),
    s"$sets sets: make it a power of two, ${1 << TrackerConfig.markBits} to 65536"
  )
  for ((name, beats) <- Seq("ring" -> ringBeats, "queue" -> queueBeats))
    require(
      beats >= 2 * TrackerConfig.frameBeats,
      s"a $name of $beats beats does not hold two frames of ${PacketStream.maxFrameBytes} B"
    )
}

object TrackerConfig {

  /** Of the longest frame. */
  val frameBeats: Int = (PacketStream.maxFrameBytes + PacketStream.dataBytes - 1) / PacketStream.dataBytes

  /** Bits of a time in ticks; a timeout is below half their range. */
  val tickBits: Int = 16

  /** Of a datagram's hash, beside a fragment that waits for the first one ([[FragmentRing]]). */
  val markBits: Int = 6

  /** For simulation, where models of it are small. */
  val small: TrackerConfig = TrackerConfig(sets = 64)

  /** For a board: 2 Ki datagrams. */
  val full: TrackerConfig = TrackerConfig()
}
