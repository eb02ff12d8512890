// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.hash

import java.security.MessageDigest

class Sha1PipeSpec
    extends HashPipeBench(new Sha1Pipe, Sha1Pipe, HashComputation.sha1, MessageDigest.getInstance("SHA-1").digest) {

  subtest("messages of 0 to 300 bytes against the JVM's SHA-1, a block every 4 cycles")(checkMessages)
  subtest("HMAC: every case of Wycheproof's hmac_sha1.json")(checkHmac(_, "hmac_sha1.json", 85, 52))
  subtest("a wipe drops what is inside, and leaves the same behind whatever was inside")(checkWipe)
}
