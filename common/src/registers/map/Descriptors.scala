// SPDX-License-Identifier: Apache-2.0
package sallyport.common.registers.map

import chisel3._

/** A bit field of a register or of a table row. */
case class RowField(lsb: Int, width: Int) {
  def msb: Int = lsb + width - 1

  /** The field out of a row in hardware; the row may be wider than the table's. */
  def apply(row: UInt): UInt = row(msb, lsb)

  /** The field out of a row in Scala. */
  def apply(row: BigInt): BigInt = (row >> lsb) & ((BigInt(1) << width) - 1)

  /** A row of this field alone; rows are made by OR-ing fields. */
  def put(value: BigInt): BigInt = {
    require(value >= 0 && value.bitLength <= width, s"$value does not fit a field of $width bits")
    value << lsb
  }
}

/** Layout of a table's rows. */
trait Row {

  /** Bits of a row, up to its highest field. */
  val bits: Int
  val fields: Seq[(String, RowField)]

  /** The bits that are in no field. */
  def gaps: Seq[RowField] = {
    val ordered = fields.map(_._2).sortBy(_.lsb)
    ordered.zip(0 +: ordered.map(_.msb + 1)).collect {
      case (field, end) if field.lsb > end => RowField(end, field.lsb - end)
    }
  }
}

sealed trait RegisterRole

object RegisterRole {

  /** Reads as the RDL's reset value. */
  case object Constant extends RegisterRole

  /** Fixed when the chip is elaborated. */
  case object Build extends RegisterRole

  /** Driven by the chip. */
  case object Status extends RegisterRole

  /** Written by software, held by the register bank. */
  case object Control extends RegisterRole

  /** A port of the counter or table window. */
  case object Window extends RegisterRole
}

/**
 * A 32-bit register (or `count` of them).
 *
 * @param offset byte offset in the chip's 4 KiB, of a shell register in the shell's 32 KiB
 * @param writable bits that software can write
 * @param pulse bits that are 1 for one cycle after software writes 1
 * @param cleared bits that end with the crypto chip's keys (the RDL's `hwclr`)
 */
case class RegisterDesc(
    name: String,
    offset: Int,
    role: RegisterRole,
    writable: BigInt = 0,
    pulse: BigInt = 0,
    cleared: BigInt = 0,
    reset: BigInt = 0,
    count: Int = 1
) {

  /** The registers of one that is repeated, each by itself, with its number behind the name. */
  def each: Seq[RegisterDesc] = Seq.tabulate(count)(n => copy(name = s"${name}_$n", offset = offset + 4 * n, count = 1))
}

/**
 * @param path `encrypt`, `decrypt` or `none`
 * @param kind `received`, `sent`, `punted`, `drop`, `merged`, `split`, `injected`, `held`, `lost`
 *   or `info`
 */
case class CounterDesc(name: String, index: Int, path: String, kind: String) {

  /** It falls as well: its increments are signed. */
  def isGauge: Boolean = kind == "held"
}

object CounterDesc {

  /** In a quiescent state `arisen` and `accounted` have one sum on each path (regs/common.rdl). */
  val arisen: Seq[String] = Seq("received", "injected", "split")
  val accounted: Seq[String] = Seq("sent", "punted", "drop", "merged", "held")
}

/**
 * @param kind `cuckoo`, `ternary` or `direct`
 * @param writeOnly reading a row answers error
 */
case class TableDesc(name: String, number: Int, kind: String, row: Row, writeOnly: Boolean)
