// Constants of the exponential function and of what is made of it, for every instruction set.
//
// eˣ = 2ⁿ·eʳ with n = round(x/ln 2) and |r| ≤ ln 2/2; eʳ = 1 + r + r²·q(r), where q interpolates at the Chebyshev
// nodes. ln 2 comes in two parts, of which n times the first is exact.

DATA exps<>+0(SB)/4, $89.0                  // above this eˣ overflows
DATA exps<>+4(SB)/4, $(-104.0)              // below this it is 0
DATA exps<>+8(SB)/4, $1.44269504088896340736 // 1/ln 2
DATA exps<>+12(SB)/4, $12582912.0           // 1.5·2²³: adding it rounds to a whole number
DATA exps<>+16(SB)/4, $0.693359375          // ln 2, upper part
DATA exps<>+20(SB)/4, $(-2.1219444e-4)      // and lower
DATA exps<>+24(SB)/4, $0.0013926176
DATA exps<>+28(SB)/4, $0.008363173
DATA exps<>+32(SB)/4, $0.041666556
DATA exps<>+36(SB)/4, $0.16666578
DATA exps<>+40(SB)/4, $0.5
DATA exps<>+44(SB)/4, $1.0
DATA exps<>+48(SB)/4, $2.0
DATA exps<>+52(SB)/4, $0x80000000           // the sign bit
DATA exps<>+56(SB)/4, $0.625
DATA exps<>+60(SB)/4, $(-0.0060967142)      // (tanh √u/√u − 1)/u on [0, 0.625²], from the highest power down
DATA exps<>+64(SB)/4, $0.02099718
DATA exps<>+68(SB)/4, $(-0.053850908)
DATA exps<>+72(SB)/4, $0.13332769
DATA exps<>+76(SB)/4, $(-0.33333328)
GLOBL exps<>(SB), RODATA|NOPTR, $80
