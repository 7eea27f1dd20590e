//! claw beside the floor and its peers, call by call and round by round: the benches. The programs that are measured
//! whole are packages of their own beside this one, so that each links nothing but what it needs.
