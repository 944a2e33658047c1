//! can-gw of the running kernel, in the caller's network namespace.

use super::error::{Error, RefusalReason};
use super::mark::hold;
use super::netlink;
use super::version::{self, KernelLimits};
use super::wire::{self, GatewayJob, ListedJob, SAME_PORT};
use crate::instance::GatewayInstance;
use linux::link::NetLinks;
use linux::netlink::{KernelRefusal, NetlinkSocket};
use route::cangw::CanGwRule;
use rustix::io::Errno;
use rustix::net::netdevice::name_to_index;

/// File with the module's parameter.
const MAX_HOPS: &str = "/sys/module/can_gw/parameters/max_hops";
/// `CGW_MAX_HOPS`
const MOST_HOPS: u8 = 6;

/// A connection to can-gw. Reading needs no permission, changing needs `CAP_NET_ADMIN`.
pub struct CanGwKernel {
    netlink: NetlinkSocket,
    limits: KernelLimits,
}

/// A change of the list of jobs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum JobRequest {
    /// Adds the job in front of the others. If there is a job with this mark and the same
    /// interfaces and filter, that job gets new modifications and checksums instead.
    Add(GatewayJob),
    /// Removes the first job that equals this one. For the kernel, two jobs with the same
    /// `CGW_MOD_UID` are equal if they differ only in modifications.
    Delete(GatewayJob),
}

impl JobRequest {
    pub(super) fn job(&self) -> &GatewayJob {
        match self {
            Self::Add(job) | Self::Delete(job) => job,
        }
    }
}

impl CanGwKernel {
    /// Opens a netlink socket; [`ready`](Self::ready) finds out whether there is can-gw.
    ///
    /// # Errors
    /// [`Error::Socket`]
    pub fn open() -> Result<Self, Error> {
        Ok(Self {
            netlink: NetlinkSocket::open()?,
            limits: KernelLimits {
                version: version::running(),
                max_hops: max_hops(),
                hidden_marks: true,
            },
        })
    }

    /// Checks whether can-gw is available and this process may change its rules. If it is missing,
    /// the kernel is asked to load it.
    ///
    /// # Errors
    /// [`Error::NoModule`], [`Error::NoPermission`], [`Error::Socket`]
    pub fn ready(&mut self) -> Result<(), Error> {
        match self.probe(&GatewayJob::default())? {
            Errno::PERM => return Err(Error::NoPermission),
            Errno::OPNOTSUPP => self.load()?,
            _ => {}
        }
        self.limits.max_hops = match max_hops() {
            None => Some(self.find_max_hops()?),
            known => known,
        };
        let mark = GatewayJob::default().marked(1, true);
        self.limits.hidden_marks = self.probe(&mark)? != Errno::INVAL;
        Ok(())
    }

    /// Loads can-gw. For processes with `CAP_SYS_MODULE`, the kernel loads a module with the name
    /// of an unknown interface (`dev_load` of net/core/dev_ioctl.c), so that no program has to be
    /// run.
    fn load(&mut self) -> Result<(), Error> {
        // There is no such interface after the load either.
        let _ = name_to_index(&self.netlink, "can-gw");
        if self.probe(&GatewayJob::default())? == Errno::OPNOTSUPP {
            return Err(Error::NoModule);
        }
        Ok(())
    }

    fn probe(&mut self, job: &GatewayJob) -> Result<Errno, Error> {
        let request = wire::probe_request(job);
        let (answers, _) = netlink::ask_all(&mut self.netlink, vec![request], false)?;
        let answer = answers.into_iter().next().flatten();
        let answer = answer.map(|refusal| refusal.errno);
        // The request cannot succeed, because it names no interfaces.
        Ok(answer.unwrap_or(Errno::NODEV))
    }

    /// Finds the limit of hops from can-gw if `/sys` does not contain it: can-gw refuses a job with
    /// more hops before it checks anything else.
    fn find_max_hops(&mut self) -> Result<u8, Error> {
        for hops in 2..=MOST_HOPS {
            let job = GatewayJob {
                hops,
                ..GatewayJob::default()
            };
            if self.probe(&job)? == Errno::INVAL {
                return Ok(hops - 1);
            }
        }
        Ok(MOST_HOPS)
    }

    /// Returns the features and limits of this kernel's can-gw. `max_hops` is known after
    /// [`ready`](Self::ready) at the latest.
    #[must_use]
    pub fn limits(&self) -> KernelLimits {
        self.limits
    }

    /// Returns the existing interfaces.
    ///
    /// # Errors
    /// [`Error::Socket`], [`Error::Answer`]
    pub fn links(&mut self) -> Result<NetLinks, Error> {
        Ok(NetLinks::read(&mut self.netlink)?)
    }

    /// Returns all jobs, of every origin, in the order in which they are tried. Without can-gw the
    /// list is empty.
    ///
    /// # Errors
    /// [`Error::Socket`], [`Error::Answer`]; [`Error::Restless`] if they change all the time.
    pub fn list(&mut self) -> Result<Vec<ListedJob>, Error> {
        netlink::list_jobs(&mut self.netlink)
    }

    /// Carries out requests in their order, and returns the kernel's answer to each. If one is
    /// refused, the following ones are still carried out.
    ///
    /// # Errors
    /// [`Error::Socket`], [`Error::Answer`]; then it is unknown which requests were carried out.
    pub fn carry_out(
        &mut self,
        requests: &[JobRequest],
    ) -> Result<Vec<Option<KernelRefusal>>, Error> {
        Ok(self.look_and_carry_out(requests, false)?.0)
    }

    /// Carries out requests. With `look`, the kernel lists its jobs right before it changes them,
    /// so that almost no frame is counted in between. In a long list, a job that is removed may be
    /// missing.
    pub(super) fn look_and_carry_out(
        &mut self,
        requests: &[JobRequest],
        look: bool,
    ) -> Result<(Vec<Option<KernelRefusal>>, Vec<ListedJob>), Error> {
        if !look || self.limits.updates_in_place() {
            return self.ask_all(requests, look);
        }
        // Kernels that wait at each removal continue to count meanwhile for the jobs that are still
        // to go, so each removal is a call of its own.
        let (mut answers, mut seen) = (Vec::new(), Vec::new());
        for request in requests {
            let goes = matches!(request, JobRequest::Delete(_));
            let (answer, list) = self.ask_all(std::slice::from_ref(request), goes)?;
            answers.extend(answer);
            seen.extend(list);
        }
        Ok((answers, seen))
    }

    fn ask_all(
        &mut self,
        requests: &[JobRequest],
        look: bool,
    ) -> Result<(Vec<Option<KernelRefusal>>, Vec<ListedJob>), Error> {
        let requests = requests.iter().map(|request| match request {
            JobRequest::Add(job) => wire::add_request(job),
            JobRequest::Delete(job) => wire::delete_request(job),
        });
        netlink::ask_all(&mut self.netlink, requests.collect(), look)
    }

    /// Carries out one request.
    ///
    /// # Errors
    /// [`Error::Refused`] without a route, and those of [`carry_out`](Self::carry_out).
    pub fn one(&mut self, request: &JobRequest) -> Result<(), Error> {
        let answer = self.carry_out(std::slice::from_ref(request))?;
        match answer.into_iter().next().flatten() {
            None => Ok(()),
            Some(refusal) => Err(self.explain(request, "", &self.rule_of(request.job()), refusal)),
        }
    }

    /// Returns a job as a rule, with interfaces by number.
    fn rule_of(&self, job: &GatewayJob) -> CanGwRule {
        job.rule(format!("#{}", job.source), format!("#{}", job.destination))
    }

    /// Explains the kernel's error in words.
    pub(super) fn explain(
        &self,
        request: &JobRequest,
        route: &str,
        rule: &CanGwRule,
        source: KernelRefusal,
    ) -> Error {
        let job = request.job();
        // The module may have been loaded again since then.
        let most = max_hops().or(self.limits.max_hops);
        let why = match (source.errno, request) {
            (Errno::PERM, _) => return Error::NoPermission,
            (Errno::OPNOTSUPP, _) => return Error::NoModule,
            (Errno::NODEV, _) => RefusalReason::Interface,
            (Errno::NOMEM | Errno::NOBUFS, _) => RefusalReason::Memory,
            (Errno::INVAL, JobRequest::Delete(_)) => RefusalReason::Gone,
            (Errno::INVAL, JobRequest::Add(_)) => match most.filter(|most| job.hops > *most) {
                Some(most) => RefusalReason::Hops(most),
                None if job.source == job.destination && job.flags & SAME_PORT == 0 => {
                    RefusalReason::SamePort
                }
                None if job.uid != 0 => RefusalReason::MarkTaken,
                None => RefusalReason::Other(source.clone()),
            },
            _ => RefusalReason::Other(source.clone()),
        };
        Error::Refused {
            route: route.to_owned(),
            rule: rule.to_string(),
            why,
            source,
        }
    }

    /// Removes all rules of an instance, and returns their number. This is for rules that a crash
    /// left behind and that no gateway will take over.
    ///
    /// # Errors
    /// [`Error::Busy`] if a process uses them; those of [`list`](Self::list) and of
    /// [`carry_out`](Self::carry_out).
    pub fn delete_ours(&mut self, instance: &GatewayInstance) -> Result<usize, Error> {
        let _hold = hold(instance)?;
        self.delete_held(instance)
    }

    /// As [`delete_ours`](Self::delete_ours), for a caller that holds the instance.
    pub(super) fn delete_held(&mut self, instance: &GatewayInstance) -> Result<usize, Error> {
        let ours = self.list()?.into_iter().map(|listed| listed.job);
        let ours = ours.filter(|job| instance.owns(job.mark()));
        let requests: Vec<_> = ours.map(JobRequest::Delete).collect();
        let answers = self.carry_out(&requests)?;
        for (request, answer) in requests.iter().zip(answers) {
            // EINVAL: the job was removed with its interface at this moment.
            if let Some(refusal) = answer.filter(|refusal| refusal.errno != Errno::INVAL) {
                return Err(self.explain(request, "", &self.rule_of(request.job()), refusal));
            }
        }
        Ok(requests.len())
    }
}

/// Returns the value that the module reports in `/sys`.
fn max_hops() -> Option<u8> {
    let text = std::fs::read_to_string(MAX_HOPS).ok()?;
    text.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn can_gw_reports_its_max_hops_without_sys() {
        let mut kernel = CanGwKernel::open().unwrap();
        match kernel.ready() {
            Err(error @ (Error::NoModule | Error::NoPermission)) => {
                eprintln!("SKIPPED because this kernel has no AF_CAN for us: {error}");
            }
            ready => {
                ready.unwrap();
                assert_eq!(Some(kernel.find_max_hops().unwrap()), max_hops());
            }
        }
    }
}
