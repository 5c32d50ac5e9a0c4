//go:build !purego

#include "textflag.h"

// CRC-32 by carry-less multiplication. A CRC is the remainder of the message, read as a polynomial
// over GF(2), times x³², by P. Registers hold polynomials reflected, as Ethernet sends bits: of a
// w-bit register bit i is the coefficient of x^(w-1-i), so the first byte of memory has the highest
// powers. The product of two reflected 64-bit halves comes out one bit short of 128: it is the
// product times x. The constants make up for it (crc32_constants.go says what they are).
//
// The overlay says which bits of the first 64 bytes count as ones, and which to invert, such as the
// initial state's in the first four: byte = (byte | or) ^ xor.

// maxShift is that of crc32_constants.go: the row of reduce512 for a block that ends the message.
#define maxShift 64

// ones masks the last t bytes of 16, read from byte t on.
DATA ones<>+0(SB)/8, $0
DATA ones<>+8(SB)/8, $0
DATA ones<>+16(SB)/8, $-1
DATA ones<>+24(SB)/8, $-1
GLOBL ones<>(SB), RODATA|NOPTR, $32

// MERGE folds the four blocks Z0 to Z3, of which Z3 is the last, into Z0. Z10 is fold512.
#define MERGE \
	VPCLMULQDQ $0x00, Z10, Z0, Z4; \
	VPCLMULQDQ $0x11, Z10, Z0, Z0; \
	VPTERNLOGQ $0x96, Z4, Z0, Z1;  \
	VPCLMULQDQ $0x00, Z10, Z1, Z4; \
	VPCLMULQDQ $0x11, Z10, Z1, Z1; \
	VPTERNLOGQ $0x96, Z4, Z1, Z2;  \
	VPCLMULQDQ $0x00, Z10, Z2, Z4; \
	VPCLMULQDQ $0x11, Z10, Z2, Z0; \
	VPTERNLOGQ $0x96, Z4, Z3, Z0

// REDUCE adds up the block Z0 and the tail of CX bytes at the end of Z9. Each of the sixteen
// halves, times x^(its distance from the end + 32) mod P, has 96 bits, and their sum is as good as
// the message. R8 is the address of row maxShift of reduce512.
#define REDUCE \
	VMOVDQU64  (R8), Z5;           \
	SHLQ       $6, CX;             \
	VMOVDQU64  (R8)(CX*1), Z4;     \
	VPCLMULQDQ $0x00, Z5, Z9, Z6;  \
	VPCLMULQDQ $0x11, Z5, Z9, Z7;  \
	VPCLMULQDQ $0x00, Z4, Z0, Z1;  \
	VPCLMULQDQ $0x11, Z4, Z0, Z0;  \
	VPXORQ     Z7, Z6, Z6;         \
	VPTERNLOGQ $0x96, Z6, Z1, Z0

// LANES adds up the four lanes of Z0 and leaves the CRC in AX. The low 64 bits of the sum are those
// above x³¹. The quotient by P makes them vanish: it is they times P's inverse. What quotient times
// P leaves in the other 32 is the remainder.
#define LANES \
	VEXTRACTI64X4 $1, Z0, Y1;      \
	VPXOR      Y1, Y0, Y0;         \
	VEXTRACTI128 $1, Y0, X1;       \
	VPXOR      X1, X0, X0;         \
	VMOVDQU    ·barrett(SB), X2;   \
	VPCLMULQDQ $0x00, X2, X0, X1;  \
	VPCLMULQDQ $0x10, X2, X1, X1;  \
	VPXOR      X1, X0, X0;         \
	VPEXTRD    $2, X0, AX;         \
	NOTL       AX;                 \
	VZEROUPPER

// func foldAVX512(p *byte, n int, o *overlay) uint32
TEXT ·foldAVX512(SB), NOSPLIT, $0-28
	MOVQ p+0(FP), SI
	MOVQ n+8(FP), BX
	MOVQ o+16(FP), DI
	LEAQ ·reduce512+(64*maxShift)(SB), R8
	MOVQ $-1, AX
	MOVQ BX, CX
	CMPQ BX, $64
	JB   short

	// Whole blocks from the front, and a tail of t = n mod 64 bytes at the end of its register. Bytes
	// masked out are not read, yet those before the tail are the message's own: no load can fault,
	// which would be correct but slow.
	ANDQ $63, CX
	SHRQ CX, AX
	NOTQ AX
	KMOVQ AX, K1
	VMOVDQU8.Z -64(SI)(BX*1), K1, Z9
	VMOVDQU64  (SI), Z0
	VMOVDQU64  (DI), Z4
	VPTERNLOGQ $0x56, 64(DI), Z4, Z0 // (Z0 | Z4) ^ memory
	ADDQ $64, SI
	SUBQ CX, BX
	SUBQ $64, BX // bytes in whole blocks not read yet
	JZ   reduce
	VBROADCASTI32X4 ·fold512(SB), Z10
	CMPQ BX, $(3*64+2*256)
	JB   single

	// Four blocks in flight hide the latency of the multiplication.
	VBROADCASTI32X4 ·fold2048(SB), Z11
	VMOVDQU64 (SI), Z1
	VMOVDQU64 64(SI), Z2
	VMOVDQU64 128(SI), Z3
	ADDQ $192, SI
	SUBQ $192, BX

	PCALIGN $32
quad:
	VPCLMULQDQ $0x00, Z11, Z0, Z4
	VPCLMULQDQ $0x11, Z11, Z0, Z0
	VPCLMULQDQ $0x00, Z11, Z1, Z5
	VPCLMULQDQ $0x11, Z11, Z1, Z1
	VPCLMULQDQ $0x00, Z11, Z2, Z6
	VPCLMULQDQ $0x11, Z11, Z2, Z2
	VPCLMULQDQ $0x00, Z11, Z3, Z7
	VPCLMULQDQ $0x11, Z11, Z3, Z3
	VPTERNLOGQ $0x96, (SI), Z4, Z0 // Z0 ^ Z4 ^ memory
	VPTERNLOGQ $0x96, 64(SI), Z5, Z1
	VPTERNLOGQ $0x96, 128(SI), Z6, Z2
	VPTERNLOGQ $0x96, 192(SI), Z7, Z3
	ADDQ $256, SI
	SUBQ $256, BX
	CMPQ BX, $256
	JAE  quad

	MERGE
	TESTQ BX, BX
	JZ   reduce

single:
	VPCLMULQDQ $0x00, Z10, Z0, Z4
	VPCLMULQDQ $0x11, Z10, Z0, Z0
	VPTERNLOGQ $0x96, (SI), Z4, Z0
	ADDQ $64, SI
	SUBQ $64, BX
	JNZ  single

reduce:
	REDUCE

lanes:
	LANES
	MOVL       AX, ret+24(FP)
	RET

short:
	// Less than a block, at the front of its register: 64-n bytes farther from the end than it is. The
	// bytes behind are masked out; a frame's buffer goes on behind it, so that is not slow either.
	SHLQ CX, AX
	NOTQ AX
	KMOVQ AX, K1
	VMOVDQU8.Z (SI), K1, Z0
	VMOVDQU64  (DI), Z4
	VPTERNLOGQ $0x56, 64(DI), Z4, Z0
	SHLQ $6, CX
	VMOVDQU64  -(64*64)(R8)(CX*1), Z4
	VPCLMULQDQ $0x00, Z4, Z0, Z1
	VPCLMULQDQ $0x11, Z4, Z0, Z0
	VPXORQ     Z1, Z0, Z0
	JMP  lanes

// func copyAVX512(dst, src *byte, n int, crc uint32) uint32
// As foldAVX512, without a mask; what is loaded is stored at dst too. n must be 64 or more. Every
// byte at dst in the end is the one that was summed, even if another thread changes src meanwhile.
TEXT ·copyAVX512(SB), NOSPLIT, $0-36
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), BX
	MOVL crc+24(FP), DX
	LEAQ ·reduce512+(64*maxShift)(SB), R8

	// The tail is stored with the bytes before it, a whole block. Those are stored again later.
	MOVQ $-1, AX
	MOVQ BX, CX
	ANDQ $63, CX
	SHRQ CX, AX
	NOTQ AX
	KMOVQ AX, K1
	VMOVDQU64  -64(SI)(BX*1), Z9
	VMOVDQU64  Z9, -64(DI)(BX*1)
	VMOVDQU8.Z Z9, K1, Z9

	NOTL DX
	VMOVD DX, X4
	VMOVDQU64 (SI), Z0
	VMOVDQU64 Z0, (DI)
	VPXORQ    Z4, Z0, Z0
	ADDQ $64, SI
	ADDQ $64, DI
	SUBQ CX, BX
	SUBQ $64, BX // bytes in whole blocks not read yet
	JZ   reduce
	VBROADCASTI32X4 ·fold512(SB), Z10
	CMPQ BX, $(3*64+2*256)
	JB   single

	VBROADCASTI32X4 ·fold2048(SB), Z11
	VMOVDQU64 (SI), Z1
	VMOVDQU64 64(SI), Z2
	VMOVDQU64 128(SI), Z3
	VMOVDQU64 Z1, (DI)
	VMOVDQU64 Z2, 64(DI)
	VMOVDQU64 Z3, 128(DI)
	ADDQ $192, SI
	ADDQ $192, DI
	SUBQ $192, BX

	PCALIGN $32
quad:
	VMOVDQU64 (SI), Z12
	VMOVDQU64 64(SI), Z13
	VMOVDQU64 128(SI), Z14
	VMOVDQU64 192(SI), Z15
	VPCLMULQDQ $0x00, Z11, Z0, Z4
	VPCLMULQDQ $0x11, Z11, Z0, Z0
	VPCLMULQDQ $0x00, Z11, Z1, Z5
	VPCLMULQDQ $0x11, Z11, Z1, Z1
	VMOVDQU64 Z12, (DI)
	VMOVDQU64 Z13, 64(DI)
	VPCLMULQDQ $0x00, Z11, Z2, Z6
	VPCLMULQDQ $0x11, Z11, Z2, Z2
	VPCLMULQDQ $0x00, Z11, Z3, Z7
	VPCLMULQDQ $0x11, Z11, Z3, Z3
	VMOVDQU64 Z14, 128(DI)
	VMOVDQU64 Z15, 192(DI)
	VPTERNLOGQ $0x96, Z12, Z4, Z0
	VPTERNLOGQ $0x96, Z13, Z5, Z1
	VPTERNLOGQ $0x96, Z14, Z6, Z2
	VPTERNLOGQ $0x96, Z15, Z7, Z3
	ADDQ $256, SI
	ADDQ $256, DI
	SUBQ $256, BX
	CMPQ BX, $256
	JAE  quad

	MERGE
	TESTQ BX, BX
	JZ   reduce

single:
	VMOVDQU64 (SI), Z12
	VPCLMULQDQ $0x00, Z10, Z0, Z4
	VPCLMULQDQ $0x11, Z10, Z0, Z0
	VMOVDQU64 Z12, (DI)
	VPTERNLOGQ $0x96, Z12, Z4, Z0
	ADDQ $64, SI
	ADDQ $64, DI
	SUBQ $64, BX
	JNZ  single

reduce:
	REDUCE
	LANES
	MOVL AX, ret+32(FP)
	RET

// func foldPCLMUL(p *byte, n int, o *overlay) uint32
// The same with blocks of 16 bytes, for processors without AVX-512; n must be 16 or more.
TEXT ·foldPCLMUL(SB), NOSPLIT, $0-28
	MOVQ p+0(FP), SI
	MOVQ n+8(FP), BX
	MOVQ o+16(FP), DI
	LEAQ ·reduce512+(64*maxShift+48)(SB), R8 // a register is the last two of the eight halves
	MOVOU ·fold128(SB), X10

	// The tail of t = n mod 16 bytes at the end of its register: the last 16 bytes of the message,
	// and zeros in place of those that are not the tail's.
	MOVQ  BX, CX
	ANDQ  $15, CX
	LEAQ  ones<>(SB), AX
	MOVOU -16(SI)(BX*1), X9
	CMPQ  BX, $64
	JA    tail
	MOVOU -16(DI)(BX*1), X1 // of so short a message the overlay reaches into the tail
	POR   X1, X9
	MOVOU 48(DI)(BX*1), X1
	PXOR  X1, X9
tail:
	MOVOU (AX)(CX*1), X1
	PAND  X1, X9
	SUBQ  CX, BX

	MOVOU (SI), X0
	MOVOU (DI), X1
	POR   X1, X0
	MOVOU 64(DI), X1
	PXOR  X1, X0
	ADDQ  $16, SI
	SUBQ  $16, BX // bytes in whole blocks not read yet
	JZ    reduce

	// The overlay is for the first four blocks.
	MOVQ $3, DX
head:
	ADDQ  $16, DI
	MOVOU (SI), X1
	MOVOU (DI), X2
	POR   X2, X1
	MOVOU 64(DI), X2
	PXOR  X2, X1
	MOVO  X0, X2
	PCLMULQDQ $0x00, X10, X0
	PCLMULQDQ $0x11, X10, X2
	PXOR  X1, X0
	PXOR  X2, X0
	ADDQ  $16, SI
	SUBQ  $16, BX
	JZ    reduce
	DECQ  DX
	JNZ   head

	CMPQ BX, $(3*16+2*64)
	JB   single

	MOVOU ·fold512(SB), X11
	MOVOU (SI), X1
	MOVOU 16(SI), X2
	MOVOU 32(SI), X3
	ADDQ  $48, SI
	SUBQ  $48, BX

	PCALIGN $32
quad:
	MOVO X0, X4
	MOVO X1, X5
	MOVO X2, X6
	MOVO X3, X7
	PCLMULQDQ $0x00, X11, X0
	PCLMULQDQ $0x00, X11, X1
	PCLMULQDQ $0x00, X11, X2
	PCLMULQDQ $0x00, X11, X3
	PCLMULQDQ $0x11, X11, X4
	PCLMULQDQ $0x11, X11, X5
	PCLMULQDQ $0x11, X11, X6
	PCLMULQDQ $0x11, X11, X7
	PXOR X4, X0
	PXOR X5, X1
	PXOR X6, X2
	PXOR X7, X3
	MOVOU (SI), X4
	MOVOU 16(SI), X5
	MOVOU 32(SI), X6
	MOVOU 48(SI), X7
	PXOR X4, X0
	PXOR X5, X1
	PXOR X6, X2
	PXOR X7, X3
	ADDQ $64, SI
	SUBQ $64, BX
	CMPQ BX, $64
	JAE  quad

	MOVO X0, X4
	PCLMULQDQ $0x00, X10, X0
	PCLMULQDQ $0x11, X10, X4
	PXOR X4, X0
	PXOR X1, X0
	MOVO X0, X4
	PCLMULQDQ $0x00, X10, X0
	PCLMULQDQ $0x11, X10, X4
	PXOR X4, X0
	PXOR X2, X0
	MOVO X0, X4
	PCLMULQDQ $0x00, X10, X0
	PCLMULQDQ $0x11, X10, X4
	PXOR X4, X0
	PXOR X3, X0
	TESTQ BX, BX
	JZ   reduce

single:
	MOVO X0, X4
	MOVOU (SI), X1
	PCLMULQDQ $0x00, X10, X0
	PCLMULQDQ $0x11, X10, X4
	PXOR X1, X0
	PXOR X4, X0
	ADDQ $16, SI
	SUBQ $16, BX
	JNZ  single

reduce:
	MOVOU (R8), X5
	SHLQ  $6, CX
	MOVOU (R8)(CX*1), X1
	MOVO  X9, X6
	MOVO  X0, X4
	PCLMULQDQ $0x00, X5, X9
	PCLMULQDQ $0x11, X5, X6
	PCLMULQDQ $0x00, X1, X0
	PCLMULQDQ $0x11, X1, X4
	PXOR  X6, X9
	PXOR  X4, X0
	PXOR  X9, X0
	MOVOU ·barrett(SB), X2
	MOVO  X0, X1
	PCLMULQDQ $0x00, X2, X1
	PCLMULQDQ $0x10, X2, X1
	PXOR  X1, X0
	PSRLO $8, X0
	MOVL  X0, AX
	NOTL  AX
	MOVL  AX, ret+24(FP)
	RET

// func cpuid(leaf, subleaf uint32) (eax, ebx, ecx, edx uint32)
TEXT ·cpuid(SB), NOSPLIT, $0-24
	MOVL leaf+0(FP), AX
	MOVL subleaf+4(FP), CX
	CPUID
	MOVL AX, eax+8(FP)
	MOVL BX, ebx+12(FP)
	MOVL CX, ecx+16(FP)
	MOVL DX, edx+20(FP)
	RET

// func xgetbv() (eax, edx uint32)
TEXT ·xgetbv(SB), NOSPLIT, $0-8
	XORL CX, CX
	XGETBV
	MOVL AX, eax+0(FP)
	MOVL DX, edx+4(FP)
	RET
