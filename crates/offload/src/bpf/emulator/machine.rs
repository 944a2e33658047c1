//! The execution of instructions.

use super::instruction::{
    CALL, EXIT, FROM_REGISTER, Instruction, JUMP, LOAD_CONSTANT, arithmetic, byte_order, class,
    jumps,
};
use super::kernel::EmulatedKernel;
use super::memory::{self, CONTEXT, FRAMES, STACK, STACK_SIZE};
use super::program::LinkedProgram;

/// The number of instructions after which a program is certain never to end.
const MOST: u64 = 1_000_000;

/// The registers and the calls of one run.
pub(super) struct Machine<'a> {
    program: &'a LinkedProgram,
    kernel: &'a mut EmulatedKernel,
    registers: [u64; 11],
    /// The next instruction of each caller, and the registers 6 to 9 that it keeps.
    callers: Vec<(usize, [u64; 4])>,
    executed: u64,
}

impl<'a> Machine<'a> {
    pub(super) fn new(program: &'a LinkedProgram, kernel: &'a mut EmulatedKernel) -> Self {
        let mut registers = [0; 11];
        registers[1] = memory::address(CONTEXT, 0);
        registers[10] = memory::address(STACK, STACK_SIZE);
        Self {
            program,
            kernel,
            registers,
            callers: Vec::new(),
            executed: 0,
        }
    }

    /// Returns the number of instructions that were executed.
    pub(super) const fn executed(&self) -> u64 {
        self.executed
    }

    /// Runs the program to its end, and returns its result.
    pub(super) fn run(&mut self) -> u64 {
        let mut at = 0;
        loop {
            let instruction = self.program.instructions[at];
            self.executed += 1;
            assert!(self.executed < MOST, "a loop without an end");
            at += 1;
            match instruction.code {
                EXIT => match self.callers.pop() {
                    None => return self.registers[0],
                    Some((next, kept)) => {
                        self.registers[6..10].copy_from_slice(&kept);
                        self.registers[10] = self.stack();
                        at = next;
                    }
                },
                CALL if instruction.src == 1 => {
                    let kept = self.registers[6..10].try_into().unwrap();
                    self.callers.push((at, kept));
                    assert!(self.callers.len() < FRAMES);
                    self.registers[10] = self.stack();
                    at = at.wrapping_add_signed(instruction.imm.cast_signed() as isize);
                }
                CALL => {
                    let arguments = self.registers[1..6].try_into().unwrap();
                    self.registers[0] = self.kernel.call(instruction.imm, arguments);
                }
                LOAD_CONSTANT => {
                    self.registers[instruction.dst] = instruction.imm;
                    at += 1;
                }
                JUMP => at = at.wrapping_add_signed(instruction.off as isize),
                _ => {
                    if self.execute(instruction) {
                        at = at.wrapping_add_signed(instruction.off as isize);
                    }
                }
            }
        }
    }

    fn stack(&self) -> u64 {
        memory::address(STACK + self.callers.len(), STACK_SIZE)
    }

    /// Executes an instruction that is no call; returns whether it jumps.
    #[inline]
    fn execute(&mut self, instruction: Instruction) -> bool {
        let Instruction {
            code,
            dst,
            src,
            off,
            imm,
        } = instruction;
        let size = match code & 0x18 {
            0x00 => 4,
            0x08 => 2,
            0x10 => 1,
            _ => 8,
        };
        let operand = match code & FROM_REGISTER {
            0 => imm,
            _ => self.registers[src],
        };
        let first = self.registers[dst];
        match code & 7 {
            class::LDX => {
                let address = self.registers[src].wrapping_add_signed(off);
                self.registers[dst] = self.kernel.load(address, size);
            }
            class::ST => self.kernel.store(first.wrapping_add_signed(off), size, imm),
            // Atomic instructions are no part of the program.
            class::STX if code & 0xE0 == 0x60 => {
                let address = first.wrapping_add_signed(off);
                self.kernel.store(address, size, self.registers[src]);
            }
            class::ALU32 if code & 0xF0 == 0xD0 => {
                self.registers[dst] = byte_order(code, first, imm);
            }
            class::ALU32 | class::ALU64 => {
                self.registers[dst] = arithmetic(code, first, operand);
            }
            class::JMP | class::JMP32 => return jumps(code, first, operand),
            _ => panic!("{instruction:X?}"),
        }
        false
    }
}
