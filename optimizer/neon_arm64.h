// Instructions of NEON for which Go's assembler has no name, as the words they are; TestWords has each assembled by
// the comment behind it. Operands are numbers of vector registers, in Go's order: sources from the last to the first,
// then the destination.

#define FADD(m, n, d) WORD $(0x4e20d400 | (m)<<16 | (n)<<5 | (d)) // fadd d.4s, n.4s, m.4s
#define FSUB(m, n, d) WORD $(0x4ea0d400 | (m)<<16 | (n)<<5 | (d)) // fsub d.4s, n.4s, m.4s
#define FMUL(m, n, d) WORD $(0x6e20dc00 | (m)<<16 | (n)<<5 | (d)) // fmul d.4s, n.4s, m.4s
#define FDIV(m, n, d) WORD $(0x6e20fc00 | (m)<<16 | (n)<<5 | (d)) // fdiv d.4s, n.4s, m.4s
#define FSQRT(n, d)   WORD $(0x6ea1f800 | (n)<<5 | (d))           // fsqrt d.4s, n.4s
