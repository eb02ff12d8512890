// What the crypto chip's pipes compute, for a simulation that leaves them out (`make sim CRYPTO=model`): the functions
// that the SystemVerilog of PipeModel.scala calls. Each is the arithmetic of the Chisel module that it is named after,
// whose comment says what the operands are; none keeps anything but expanded keys, by thread.
//
// AES, SM4, SHA-1 and SHA-256 are libcrypto's. SM3's compression, ChaCha20's block, Poly1305 by the block and the
// multiplication of GHASH are not to be had there, and are tested against its whole messages instead
// (test/model_test.cpp).
#pragma once

#include <cstdint>

extern "C" {
// block, key, size (0: 128 bits, 1: 192, 2: 256).
void sallyport_AesPipe(const uint32_t* block, const uint32_t* key, const uint32_t* size, uint32_t* result);
// block, last words of the key schedule, size (0 or 2).
void sallyport_AesDecryptPipe(const uint32_t* block, const uint32_t* key, const uint32_t* size, uint32_t* result);
// block; key, or with `decrypt` words 39 to 36 of its expansion.
void sallyport_Sm4Pipe(const uint32_t* block, const uint32_t* key, const uint32_t* decrypt, uint32_t* result);
// key, nonce, counter.
void sallyport_ChaChaPipe(const uint32_t* key, const uint32_t* nonce, const uint32_t* counter, uint32_t* result);
// state, block.
void sallyport_Sha1Pipe(const uint32_t* state, const uint32_t* block, uint32_t* result);
void sallyport_Sha256Pipe(const uint32_t* state, const uint32_t* block, uint32_t* result);
void sallyport_Sm3Pipe(const uint32_t* state, const uint32_t* block, uint32_t* result);
// accumulator (130 bits), r, s, up to four blocks, how many; tag in the result's low 128 bits, accumulator above.
void sallyport_Poly1305Pipe(const uint32_t* acc, const uint32_t* r, const uint32_t* s, const uint32_t* data,
                            const uint32_t* blocks, uint32_t* result);
// Two polynomials.
void sallyport_GhashMultiply(const uint32_t* a, const uint32_t* b, uint32_t* result);
}
