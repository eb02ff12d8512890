// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.hash

import java.security.MessageDigest

class Sha256PipeSpec extends HashPipeBench(
      new Sha256Pipe,
      Sha256Pipe,
      HashComputation.sha256,
      MessageDigest.getInstance("SHA-256").digest
    ) {

  subtest("messages of 0 to 300 bytes against the JVM's SHA-256, a block every 4 cycles")(checkMessages)
  subtest("HMAC: every case of Wycheproof's hmac_sha256.json")(checkHmac(_, "hmac_sha256.json", 87, 54))
  subtest("a wipe drops what is inside, and leaves the same behind whatever was inside")(checkWipe)
}
