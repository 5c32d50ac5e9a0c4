#include "textflag.h"

// func cycles() uint64
TEXT ·cycles(SB), NOSPLIT, $0-8
	RDTSC
	SHLQ $32, DX
	ORQ  DX, AX
	MOVQ AX, ret+0(FP)
	RET

// func relax(n uint32)
TEXT ·relax(SB), NOSPLIT, $0-4
	MOVL n+0(FP), CX
again:
	PAUSE
	SUBL $1, CX
	JGT  again
	RET
