// SPDX-License-Identifier: GPL-2.0-or-later
// self-test PLUGINS: lets strongSwan test the algorithms with the plugin's vectors, and SM2 with
// the standard's. It prints a line for each and exits with 1 if one is missing, which is what
// becomes of an algorithm that fails.
#include <library.h>
#include <stdio.h>

static bool all_good = TRUE;

static void say(const char *what, bool good) {
  printf("%s %s\n", good ? "ok" : "FAILED", what);
  all_good &= good;
}

// What strongSwan said of its tests.
static char results[16384];

static void keep(debug_t group, level_t level, char *format, ...) {
  size_t used = strlen(results);
  va_list args;

  if (level <= 1 && strstr(format, "test vectors")) {
    va_start(args, format);
    vsnprintf(results + used, sizeof(results) - used, format, args);
    va_end(args);
    strncat(results, "\n", sizeof(results) - strlen(results) - 1);
  }
}

static void say_passed(const char *name) {
  char line[64];

  snprintf(line, sizeof(line), "enabled  %s: passed ", name);
  say(name, strstr(results, line) != NULL);
}

// GB/T 32918.5-2017, A.2: signer "1234567812345678", message "message digest".
static const char SM2_KEY[] =
    "\x30\x59\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x81\x1c\xcf\x55\x01\x82\x2d\x03\x42\x00\x04"
    "\x09\xf9\xdf\x31\x1e\x54\x21\xa1\x50\xdd\x7d\x16\x1e\x4b\xc5\xc6\x72\x17\x9f\xad\x18\x33\xfc\x07\x6b\xb0\x8f\xf3"
    "\x56\xf3\x50\x20\xcc\xea\x49\x0c\xe2\x67\x75\xa5\x2d\xc6\xea\x71\x8c\xc1\xaa\x60\x0a\xed\x05\xfb\xf3\x5e\x08\x4a"
    "\x66\x32\xf6\x07\x2d\xa9\xad\x13";
static const char SM2_SIGNATURE[] =
    "\x30\x46\x02\x21\x00\xf5\xa0\x3b\x06\x48\xd2\xc4\x63\x0e\xea\xc5\x13\xe1\xbb\x81\xa1\x59\x44\xda\x38\x27\xd5\xb7"
    "\x41\x43\xac\x7e\xac\xee\xe7\x20\xb3\x02\x21\x00\xb1\xb6\xaa\x29\xdf\x21\x2f\xd8\x76\x31\x82\xbc\x0d\x42\x1c\xa1"
    "\xbb\x90\x38\xfd\x1f\x7f\x42\xd4\x84\x0b\x69\xc4\x85\xbb\xc1\xaa";

static public_key_t *load_public(key_type_t type, chunk_t blob) {
  return lib->creds->create(lib->creds, CRED_PUBLIC_KEY, type, BUILD_BLOB_ASN1_DER, blob, BUILD_END);
}

static void test_sm2() {
  chunk_t message = chunk_from_str("message digest");
  chunk_t signature = chunk_clone(chunk_create((u_char *)SM2_SIGNATURE, sizeof(SM2_SIGNATURE) - 1));
  public_key_t *key = load_public(KEY_ANY, chunk_create((u_char *)SM2_KEY, sizeof(SM2_KEY) - 1));

  say("SM2 key of a certificate", key && key->get_type(key) == KEY_SM2);
  if (!key) {
    return;
  }
  say("SM2 verify", key->verify(key, SIGN_SM2_WITH_SM3, NULL, message, signature));
  for (int bit = 0; bit < signature.len * 8; bit++) {
    signature.ptr[bit / 8] ^= 1 << bit % 8;
    if (key->verify(key, SIGN_SM2_WITH_SM3, NULL, message, signature)) {
      say("SM2 refuses a wrong bit", FALSE);
    }
    signature.ptr[bit / 8] ^= 1 << bit % 8;
  }
  say("SM2 refuses another message", !key->verify(key, SIGN_SM2_WITH_SM3, NULL, chunk_from_str("message"), signature));
  say("SM2 refuses ECDSA", !key->verify(key, SIGN_ECDSA_WITH_SHA256_DER, NULL, message, signature));
  key->destroy(key);
  chunk_free(&signature);
}

// Every wrong bit of ciphertext, ICV, additional data and IV, and every length that is too short.
static void test_gcm_refuses() {
  aead_t *aead = lib->crypto->create_aead(lib->crypto, ENCR_SM4_GCM_ICV16, 16, 4);
  uint8_t data[20 + 8 + 40 + 16] = {1, 2, 3};
  chunk_t assoc = chunk_create(data, 20), iv = chunk_create(data + 20, 8), sealed = chunk_create(data + 28, 56), plain;
  bool good = aead && aead->set_key(aead, chunk_create(data, 20)) &&
              aead->encrypt(aead, chunk_create(data + 28, 40), assoc, iv, NULL);

  for (int bit = 0; good && bit < sizeof(data) * 8; bit++) {
    data[bit / 8] ^= 1 << bit % 8;
    good = !aead->decrypt(aead, sealed, assoc, iv, &plain);
    data[bit / 8] ^= 1 << bit % 8;
  }
  for (int len = 0; good && len < sealed.len; len++) {
    good = !aead->decrypt(aead, chunk_create(sealed.ptr, len), assoc, iv, &plain);
  }
  good = good && aead->decrypt(aead, sealed, assoc, iv, &plain);
  say("SM4-GCM refuses what is not authentic", good && plain.len == 40);
  if (good) {
    chunk_free(&plain);
  }
  DESTROY_IF(aead);
}

// GB/T 32918.5-2017, B.2: the public key of user B.
static const char CURVE_KEY[] =
    "\x16\x0e\x12\x89\x7d\xf4\xed\xb6\x1d\xd8\x12\xfe\xb9\x67\x48\xfb\xd3\xcc\xf4\xff\xe2\x6a\xa6\xf6\xdb\x95\x40\xaf"
    "\x49\xc9\x42\x32\x4a\x7d\xad\x08\xbb\x9a\x45\x95\x31\x69\x4b\xeb\x20\xaa\x48\x9d\x66\x49\x97\x5e\x1b\xfc\xf8\xc4"
    "\x74\x1b\x78\xb4\xb2\x23\x00\x7f";

static void test_curve() {
  key_exchange_t *ke = lib->crypto->create_ke(lib->crypto, CURVE_SM2);
  chunk_t peer = chunk_clone(chunk_create((u_char *)CURVE_KEY, sizeof(CURVE_KEY) - 1)), key = chunk_empty, secret;

  peer.ptr[63] ^= 1;
  say("curveSM2 refuses what is no point", ke && !ke->set_public_key(ke, peer));
  peer.ptr[63] ^= 1;
  if (ke && ke->set_public_key(ke, peer) && ke->get_public_key(ke, &key) && ke->get_shared_secret(ke, &secret)) {
    printf("curveSM2 %+B %+B\n", &key, &secret);
    chunk_clear(&secret);
  } else {
    say("curveSM2", FALSE);
  }
  DESTROY_IF(ke);
  chunk_free(&key);
  chunk_free(&peer);
}

int main(int count, char *words[]) {
  dbg = keep;
  if (count != 3 || !library_init(words[2], "self-test")) {
    fprintf(stderr, "self-test: give the folder of the plugins and a strongswan.conf\n");
    return 2;
  }
  lib->plugins->add_path(lib->plugins, words[1]);
  if (!lib->plugins->load(lib->plugins, "sm! openssl! pkcs1! random! nonce!")) {
    fprintf(stderr, "self-test: the plugins are not in %s\n", words[1]);
    return 2;
  }
  say_passed("SM4_CBC[openssl]");
  say_passed("SM4_GCM_16[sm]");
  say_passed("HASH_SM3[openssl]");
  say_passed("PRF_HMAC_SM3[openssl]");
  say_passed("HMAC_SM3_128[openssl]");
  say_passed("HMAC_SM3_256[openssl]");
  test_gcm_refuses();
  test_sm2();
  test_curve();
  library_deinit();
  return all_good ? 0 : 1;
}
