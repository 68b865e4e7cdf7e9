// Package epoch leads the epochs of a job: who trains which epoch, when all evaluate, when an epoch ends, and when the
// job does. It has two state machines, without clock, network, files or goroutine: a [Leader], on server 0, and a
// [Member] in each worker. Without servers each worker has a leader of its own, and all hear the same ([Circle]).
//
// # Files
//
//	messages.go  what members say and are told, and what is noted
//	leader.go    what a leader knows of a job, and what it hears
//	deciding.go  what follows from that
//	member.go    a member, from order to order
//	circle.go    leaders of a job without servers, one in each member
//	led.go       the way from package train to a leader
//
// # Messages
//
// A member says where it is, and repeats it until it is told what to do. A message is the whole state of its member, so
// that a leader which has lost all but its two facts knows as much as before once every member has spoken.
//
//	a member says                                      it is told
//	  that it begins, and what it has                    Begin    the job, at epoch e, with what all have and it knows
//	  the epoch it is in, and whether it has ended       Train    epoch e, from where its weights are
//	  whether it is due to evaluate in the middle        Measure  share i of n, for evaluation k
//	  how many evaluations it knows                      Act      on evaluation k: its hooks see it
//	  what it has measured                               End      epoch e: its hooks end it, once or again
//	  how many epochs its hooks have ended               Rest     train what lost worker w has left from p
//	  why it wants to stop, if it does                   Stop     the epoch here, since the job is over: why
//	  whether it has trained another's rest              Stand    where it is, while others in step train on
//	  what it has chosen                                 Choose   the epoch that comes next
//	                                                     Over     why the job has stopped, or who is short of what
//
// # States
//
//	          all are here            all stand             all shares are here         all have acted
//	Starting ─────────────> Training ───────────> Measuring ───────────────────> Acting ───────────────> Training
//	                         ▲   ▲ │                │   ▲                           │ at the epoch's end
//	                         │   │ │ a lost one     └───┘ one is lost with          ▼
//	                         │   └─┘ is waited for,       its share: all anew     Ending ───────────> Training, or over
//	                         │       then its rest is leased                      │    ▲ one is lost: again
//	                         └── behind: at once                                  └────┘
//
// A job may choose its epochs one at a time: once all have ended the last that was chosen, and nobody is owed its rest,
// the member that leads is told to look for the next, again as long as there is none. What it brings is a fact before
// anybody is told of it. So at each epoch's end holds what holds at a job's.
//
// A member stands when it is due, or has ended its share, in the epoch that the job is in. Nobody evaluates before all
// that are present stand. A member whose epoch the job has ended without it is behind: it trains what it lacks alone,
// without hooks and evaluations, and the others wait for it where they next stand. What an evaluation lacks of its
// samples the next one counts.
//
// # Facts
//
// Two facts outlive a kill, by server 0's journal or a checkpoint ([Leader.Facts]); each is noted before anybody is
// told what follows from it. [Made] is the last evaluation, with what each member has measured. [Ground] is what all
// have done: the evaluations that hooks have seen, the epochs whose ends they have seen, what they remember, the epochs
// that were chosen, and why the job stops. Where a worker is in its rows is no fact of this package: its pushes carry
// that, and it says so when it begins.
//
// # Failures
//
//	who ends                when                        what happens
//	a member                it trains                   the others stand and evaluate without it
//	                        it stands, and has ended    the same; nobody trains its epoch again
//	                        it measures                 all that are left measure anew, the shares of fewer
//	                        it has measured             its share counts
//	                        it acts                     the others act; it acts when it returns, if they still do
//	                        it ends the epoch           all that are left end it again: it may have led
//	                        it trains another's rest    all wait again, and another goes on with that, from where the pushes are
//	                        it chooses the next epoch   another is told to; what the lost one finds does not count
//	                        it has been told Over       nothing: the others are told too
//	 and returns            in the job's epoch          it goes on there, and stands like the others
//	                        behind                      it trains its rest alone, and is waited for at the next evaluation
//	                        after the last epoch        it trains its rest, all evaluate once more, and the job is over
//	                        while its rest is leased    it goes on itself: the lease's pushes are of an earlier life
//	 and never returns      before the last epoch ends  it is waited for there, and its rest is leased; where that can't
//	                                                    be, Over says who is short
//	the leader              at any time                 members say again where they are; who has measured measures anew
//	 and returns            an evaluation is made       it has its number and its shares: members act on it
//	                        not all have acted          who has is not asked again; who has not acts
//	  without who led that  it is acted on              all that are left act on it again
//	                        an epoch ends               who has ended it does not end it again
//	  without who led that  it ends                     all that are left end it again
//	all, and go back        an evaluation is measured   it is measured again, under its number
//	                        it is made                  it is not: all act on it
//	                        an epoch ends               hooks end it again
//	                        some are behind             each trains from where it is; in step all from the earliest
//	                        the job has stopped         Over, with the reason
//	                        it had chosen its last      it looks again, as does a job whose members have all begun since
//	                                                    the leader returned
//	 with others             at any epoch               epochs that some lack begin anew on all
//
// A message that comes twice, or late, changes nothing. Each is one of a life of its worker, and numbered in that life.
package epoch
