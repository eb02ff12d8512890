// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.hash

import chisel3._

/**
 * The chained hashes of a lane. The first three are hashes under HMAC (RFC 2104), the last one is
 * RFC 8439's.
 */
object HashKind extends ChiselEnum {
  val sha256, sha1, sm3, poly1305 = Value
}
