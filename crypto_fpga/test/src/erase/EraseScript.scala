// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.erase

import sallyport.common.registers.map.{CommonRegs, CryptoRegs, CryptoTables, RegisterDesc, TableCommand}

/** The lines that `erase.cpp` plays. */
class EraseScript {
  private val lines = Seq.newBuilder[String]
  def text: String = lines.result().mkString("", "\n", "\n")

  def ready(): Unit = lines += "ready"
  def run(cycles: Int): Unit = lines += s"run $cycles"
  def settle(): Unit = lines += "settle"
  def search(label: String): Unit = lines += s"search $label"
  def red(beats: Seq[BigInt]): Unit = lines ++= beats.map(beat => s"red ${beat.toString(16)}")
  def black(beats: Seq[BigInt]): Unit = lines ++= beats.map(beat => s"black ${beat.toString(16)}")

  def enable(): Unit = write(CryptoRegs.control.offset, CryptoRegs.Control.enable.put(1))
  def zeroize(): Unit = write(CryptoRegs.control.offset, CryptoRegs.Control.zeroize.put(1))

  /** A contact that opens for so many cycles. */
  def tamper(cycles: Int): Unit = lines += s"tamper $cycles"
  def outbound(index: Int, row: BigInt): Unit = writeRow(CryptoTables.outboundKey, index, row)
  def inbound(index: Int, row: BigInt): Unit = writeRow(CryptoTables.inboundKey, index, row)

  /**
   * Every form in which hardware may hold it: as it is, backwards, its words or its bytes
   * turned round.
   */
  def secret(secret: Secret): Unit = {
    def little(bytes: Seq[Byte]): BigInt = BigInt(1, bytes.reverse.toArray)
    def reflected(byte: Byte): Byte = (Integer.reverse(byte.toInt) >>> 24).toByte
    val bytes = secret.bytes
    val forms = Seq(bytes, bytes.reverse, bytes.grouped(4).flatMap(_.reverse).toSeq, bytes.map(reflected))
    for {
      form <- forms
      (size, step) <- Seq(8 -> 4) ++ Option.when(secret.words)(4 -> 4)
      at <- 0 to form.length - size by step
      value = form.slice(at, at + size)
      // Zeros that fill a row up are no secret.
      if value.distinct.size > size / 2
    } lines += s"secret ${secret.name} ${8 * size} ${little(value).toString(16)}"
  }

  private def write(address: Int, data: BigInt): Unit = lines += f"write $address%x ${data.toString(16)}"
  private def writeRow(table: Int, index: Int, row: BigInt): Unit = {
    for (n <- 0 until CommonRegs.tableData.count)
      write(CommonRegs.tableData.offset + 4 * n, (row >> (32 * n)) & 0xffffffffL)
    def of(register: RegisterDesc, value: Int): Unit = write(register.offset, value)
    of(CommonRegs.tableSelect, table)
    of(CommonRegs.tableIndex, index)
    of(CommonRegs.tableCommand, TableCommand.write)
    // A row waits for packets; there are none.
    run(100)
  }
}
