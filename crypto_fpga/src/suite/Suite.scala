// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.suite

import chisel3._
import chisel3.util._
import sallyport.crypto.hash.HashKind

/** What encrypts the payload. */
sealed trait CipherKind
object CipherKind {
  case object None extends CipherKind
  case class Aes(keyBits: Int) extends CipherKind
  case object Sm4 extends CipherKind
  case object ChaCha20 extends CipherKind
}

/** What makes the ICV. */
sealed trait AuthKind
object AuthKind {

  /** GCM: the ciphertext is hashed as text. */
  case object Ghash extends AuthKind

  /** GMAC: everything is associated data (RFC 4543). */
  case object Gmac extends AuthKind
  case object Poly1305 extends AuthKind
  case class Hmac(hash: HashKind.Type) extends AuthKind
}

/**
 * An ESP suite: what a lane must know of it. [[SuiteList]] has them all, from regs/suites.yaml.
 *
 * @param number
 *   in the key rows and in the capability register
 * @param name
 *   strongSwan's
 * @param cbc
 *   CBC mode; else the cipher makes a key stream
 * @param padTo
 *   payload and trailer are padded to a multiple of this many bytes
 * @param icvBytes
 *   lengths of the ICV; of several the key row chooses one
 */
case class Suite(
    number: Int,
    name: String,
    cipher: CipherKind,
    cbc: Boolean,
    auth: AuthKind,
    ivBytes: Int,
    padTo: Int,
    icvBytes: Seq[Int]
) {
  import AuthKind._

  /**
   * No step of a packet waits for the step before: such packets overtake the others (see
   * [[OrderArbiter]]).
   */
  def fast: Boolean = auth == Ghash || auth == Gmac
  def hmac: Boolean = auth.isInstanceOf[Hmac]

  /** Bytes in front of the ciphertext: SPI, sequence number, IV. */
  def headBytes: Int = 8 + ivBytes

  /** The key row says how long the ICV is; else it is fixed. */
  def icvByRow: Boolean = icvBytes.size > 1
  def fixedIcvBytes: Int = icvBytes.head
}

object Suite {
  import CipherKind._

  val all: Seq[Suite] = SuiteList.all

  /** Width in the key rows, and in a lane. */
  val bits = 8
  val laneBits = log2Ceil(all.map(_.number).max + 1)

  /** Lengths of an ICV that a key row can ask for, in bytes, by `icv`. */
  val icvBytes: Seq[Int] = Seq(12, 16, 32)
  val icvBits = 2

  /** Parts of strongSwan's names of what RFC 8221 forbids or advises against. */
  private val forbidden = "(^|-)(3?des\\d*|md5\\w*|blowfish\\w*|cast\\w*)(-|$)".r

  /**
   * The suite of strongSwan's name; raises an `IllegalArgumentException` that names those
   * there are.
   */
  def named(name: String): Suite = all.find(_.name == name).getOrElse {
    val why =
      if (forbidden.findFirstIn(name.toLowerCase).isEmpty) s"no suite is called $name"
      else s"suite $name is refused: RFC 8221 forbids it or advises against it"
    throw new IllegalArgumentException(s"$why; choose from ${all.map(_.name).mkString(", ")}")
  }

  /** High if `number` is a suite for which `property` holds. */
  def is(number: UInt)(property: Suite => Boolean): Bool =
    all.filter(property).map(_.number.U === number).foldLeft(false.B)(_ || _)

  def isAes(number: UInt): Bool = is(number)(_.cipher.isInstanceOf[Aes])
  def isAuth(number: UInt, auth: AuthKind): Bool = is(number)(_.auth == auth)

  /** One of a few constants, by suite. */
  def choose(number: UInt)(value: Suite => Int): UInt = {
    val values = all.map(value).distinct
    val width = log2Ceil(values.max + 1).max(1)
    values.map(v => Mux(is(number)(value(_) == v), v.U(width.W), 0.U)).reduce(_ | _)
  }

  /** One of a few constants, by suite and length of ICV in bytes; `icv` is the row's. */
  def chooseByIcv(number: UInt, icv: UInt)(value: (Suite, Int) => Int): UInt = {
    val byRow = (icvBytes :+ icvBytes.last).map(bytes => choose(number)(s => value(s, bytes)))
    Mux(
      is(number)(_.icvByRow),
      VecInit(byRow.map(_.pad(byRow.map(_.getWidth).max)))(icv),
      choose(number)(s => value(s, s.fixedIcvBytes))
    )
  }

  /** Bytes of the ICV. */
  def icvLength(number: UInt, icv: UInt): UInt = chooseByIcv(number, icv)((_, bytes) => bytes)
}
