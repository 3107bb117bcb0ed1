# The one table of dependencies between folders of src/. An include that points outward fails the build
# (cmake/check_includes.cmake); a library links exactly what its row names.
set(SPUR_RINGS base text model config state sched replay io os wire ctld agent stepd pmix container acct sim cli main)
set(SPUR_DEPS_base)
set(SPUR_DEPS_text base)
set(SPUR_DEPS_model base text)
set(SPUR_DEPS_config base text model)
set(SPUR_DEPS_state base text model)
set(SPUR_DEPS_sched base text model)
# The planner in virtual time: traces, what-if.
set(SPUR_DEPS_replay base text model sched)
set(SPUR_DEPS_io base model)
set(SPUR_DEPS_wire base text model state io)
# The real doors. They speak the wire's formats (spool records, agent streams).
set(SPUR_DEPS_os base text model io wire)
set(SPUR_DEPS_ctld base text model config state sched io wire)
set(SPUR_DEPS_agent base text model config io wire)
# spurstepd is itself the far side of the launcher door, so it may use os/.
set(SPUR_DEPS_stepd base text model io wire os)
# A program of its own, because the PMIx library has threads and wants to be loaded.
set(SPUR_DEPS_pmix base text model wire)
# A program of its own, because it unpacks what users bring (libarchive) and must never run with rights of the agent.
set(SPUR_DEPS_container base text model io wire os)
# spurdbd: what it takes in, keeps and answers, over the door to its database.
set(SPUR_DEPS_acct base text model io wire)
# os/ for the journal in etcd, which runs here over a fake store.
set(SPUR_DEPS_sim base text model state sched io os wire ctld agent)
set(SPUR_DEPS_cli base text model config state sched replay wire)
set(SPUR_DEPS_main base text model config state sched replay io os wire ctld agent stepd pmix container acct sim cli)
