use super::*;

#[test]
fn a_json_job_of_openpai_has_every_name_it_ever_had() {
    insta::assert_snapshot!(shown(&three_roles("pai_v1"), "worker-1"), @r#"
    APP_ID=job-00000000000170008000000000000000
    FRAMEWORK_NAME=ann~digits
    HADOOP_USER_NAME=ann
    PAI_CODE_DIR=/code
    PAI_CONTAINER_HOST_IP=127.0.0.4
    PAI_CONTAINER_HOST_PORT=20005
    PAI_CONTAINER_HOST_PORT_LIST=http:20005;ssh:20006;
    PAI_CONTAINER_HOST_http_PORT_LIST=20005
    PAI_CONTAINER_HOST_ssh_PORT_LIST=20006
    PAI_CONTAINER_ID=job-00000000000170008000000000000000_2_worker_1
    PAI_CONTAINER_SSH_PORT=20006
    PAI_CURRENT_CONTAINER_IP=127.0.0.4
    PAI_CURRENT_CONTAINER_PORT=20005
    PAI_CURRENT_TASK_ROLE_CPU_COUNT=1
    PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX=1
    PAI_CURRENT_TASK_ROLE_GPU_COUNT=0
    PAI_CURRENT_TASK_ROLE_MEM_MB=1024
    PAI_CURRENT_TASK_ROLE_MIN_FAILED_TASK_COUNT=1
    PAI_CURRENT_TASK_ROLE_MIN_SUCCEEDED_TASK_COUNT=
    PAI_CURRENT_TASK_ROLE_NAME=worker
    PAI_CURRENT_TASK_ROLE_SHM_MB=64
    PAI_CURRENT_TASK_ROLE_TASK_COUNT=2
    PAI_DATA_DIR=/input
    PAI_DEFAULT_FS_URI=
    PAI_HOST_IP_chief_0=127.0.0.5
    PAI_HOST_IP_ps_0=127.0.0.2
    PAI_HOST_IP_worker_0=127.0.0.3
    PAI_HOST_IP_worker_1=127.0.0.4
    PAI_JOB_NAME=ann~digits
    PAI_JOB_TASK_COUNT=4
    PAI_JOB_TASK_ROLE_COUNT=3
    PAI_JOB_TASK_ROLE_LIST=ps,worker,chief
    PAI_KILL_ALL_ON_COMPLETED_TASK_NUM=0
    PAI_MIN_FAILED_TASK_COUNT_worker=1
    PAI_MIN_SUCCEEDED_TASK_COUNT_worker=
    PAI_OUTPUT_DIR=/output
    PAI_PORT_LIST_chief_0_http=20007
    PAI_PORT_LIST_chief_0_ssh=20008
    PAI_PORT_LIST_ps_0_http=20001
    PAI_PORT_LIST_ps_0_ssh=20002
    PAI_PORT_LIST_worker_0_http=20003
    PAI_PORT_LIST_worker_0_ssh=20004
    PAI_PORT_LIST_worker_1_http=20005
    PAI_PORT_LIST_worker_1_ssh=20006
    PAI_RESOURCE=0,1,1024,64
    PAI_TASKS_NUM=4
    PAI_TASK_CPU_NUM=1
    PAI_TASK_GPU_NUM=0
    PAI_TASK_INDEX=1
    PAI_TASK_MEM_MB=1024
    PAI_TASK_ROLES_NUM=3
    PAI_TASK_ROLE_0_HOST_LIST=127.0.0.2:20001
    PAI_TASK_ROLE_1_HOST_LIST=127.0.0.3:20003,127.0.0.4:20005
    PAI_TASK_ROLE_2_HOST_LIST=127.0.0.5:20007
    PAI_TASK_ROLE_COUNT=3
    PAI_TASK_ROLE_INDEX=1
    PAI_TASK_ROLE_LIST=ps,worker,chief
    PAI_TASK_ROLE_NAME=worker
    PAI_TASK_ROLE_NO=1
    PAI_TASK_ROLE_NUM=2
    PAI_TASK_ROLE_TASK_COUNT_chief=1
    PAI_TASK_ROLE_TASK_COUNT_ps=1
    PAI_TASK_ROLE_TASK_COUNT_worker=2
    PAI_TASK_ROLE_chief_HOST_LIST=127.0.0.5:20007
    PAI_TASK_ROLE_ps_HOST_LIST=127.0.0.2:20001
    PAI_TASK_ROLE_worker_HOST_LIST=127.0.0.3:20003,127.0.0.4:20005
    PAI_USERNAME=ann
    PAI_USER_NAME=ann
    PAI_WORK_DIR=/code
    PAI_chief_0_http_PORT=20007
    PAI_chief_0_ssh_PORT=20008
    PAI_ps_0_http_PORT=20001
    PAI_ps_0_ssh_PORT=20002
    PAI_worker_0_http_PORT=20003
    PAI_worker_0_ssh_PORT=20004
    PAI_worker_1_http_PORT=20005
    PAI_worker_1_ssh_PORT=20006
    "#);
}

#[test]
fn a_yaml_job_of_openpai_has_every_name_it_has() {
    insta::assert_snapshot!(shown(&three_roles("pai_v2"), "worker-1"), @r#"
    FC_CONFIGMAP_NAME=job-00000000000170008000000000000000-attempt
    FC_CONFIGMAP_UID=job-00000000000170008000000000000000-attempt
    FC_FRAMEWORK_ATTEMPT_ID=1
    FC_FRAMEWORK_ATTEMPT_INSTANCE_UID=1_job-00000000000170008000000000000000
    FC_FRAMEWORK_NAME=job-00000000000170008000000000000000
    FC_FRAMEWORK_NAMESPACE=default
    FC_FRAMEWORK_UID=job-00000000000170008000000000000000
    FC_POD_NAME=job-00000000000170008000000000000000-worker-1
    FC_POD_UID=job-00000000000170008000000000000000-worker-1-1
    FC_TASKROLE_NAME=worker
    FC_TASKROLE_UID=job-00000000000170008000000000000000-worker
    FC_TASK_ATTEMPT_ID=0
    FC_TASK_ATTEMPT_INSTANCE_UID=0_job-00000000000170008000000000000000-worker-1-1
    FC_TASK_INDEX=1
    FC_TASK_UID=job-00000000000170008000000000000000-worker-1
    PAI_CONTAINER_HOST_IP=127.0.0.4
    PAI_CONTAINER_HOST_PORT=20005
    PAI_CONTAINER_HOST_PORT_LIST=http:20005;ssh:20006;
    PAI_CONTAINER_HOST_http_PORT_LIST=20005
    PAI_CONTAINER_HOST_ssh_PORT_LIST=20006
    PAI_CONTAINER_SSH_PORT=20006
    PAI_CURRENT_CONTAINER_IP=127.0.0.4
    PAI_CURRENT_CONTAINER_PORT=20005
    PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX=1
    PAI_CURRENT_TASK_ROLE_NAME=worker
    PAI_DEFAULT_FS_URI=
    PAI_FRAMEWORK_NAME=ann~digits
    PAI_HOST_IP_chief_0=127.0.0.5
    PAI_HOST_IP_ps_0=127.0.0.2
    PAI_HOST_IP_worker_0=127.0.0.3
    PAI_HOST_IP_worker_1=127.0.0.4
    PAI_JOB_NAME=ann~digits
    PAI_JOB_TASK_COUNT=4
    PAI_JOB_TASK_ROLE_COUNT=3
    PAI_JOB_TASK_ROLE_LIST=ps,worker,chief
    PAI_JOB_VC_NAME=default
    PAI_MIN_FAILED_TASK_COUNT_chief=1
    PAI_MIN_FAILED_TASK_COUNT_ps=1
    PAI_MIN_FAILED_TASK_COUNT_worker=1
    PAI_MIN_SUCCEEDED_TASK_COUNT_chief=-1
    PAI_MIN_SUCCEEDED_TASK_COUNT_ps=-1
    PAI_MIN_SUCCEEDED_TASK_COUNT_worker=-1
    PAI_PORT_LIST_chief_0_http=20007
    PAI_PORT_LIST_chief_0_ssh=20008
    PAI_PORT_LIST_ps_0_http=20001
    PAI_PORT_LIST_ps_0_ssh=20002
    PAI_PORT_LIST_worker_0_http=20003
    PAI_PORT_LIST_worker_0_ssh=20004
    PAI_PORT_LIST_worker_1_http=20005
    PAI_PORT_LIST_worker_1_ssh=20006
    PAI_RESOURCE_chief=0,1,1024,64
    PAI_RESOURCE_ps=0,1,1024,64
    PAI_RESOURCE_worker=0,1,1024,64
    PAI_TASKS_NUM=4
    PAI_TASK_INDEX=1
    PAI_TASK_ROLES_NUM=3
    PAI_TASK_ROLE_COUNT=3
    PAI_TASK_ROLE_INSTANCES=ps:0,worker:0,worker:1,chief:0
    PAI_TASK_ROLE_LIST=ps,worker,chief
    PAI_TASK_ROLE_TASK_COUNT_chief=1
    PAI_TASK_ROLE_TASK_COUNT_ps=1
    PAI_TASK_ROLE_TASK_COUNT_worker=2
    PAI_TASK_ROLE_chief_HOST_LIST=127.0.0.5:20007
    PAI_TASK_ROLE_ps_HOST_LIST=127.0.0.2:20001
    PAI_TASK_ROLE_worker_HOST_LIST=127.0.0.3:20003,127.0.0.4:20005
    PAI_USERNAME=ann
    PAI_USER_NAME=ann
    PAI_VIRTUAL_CLUSTER=default
    PAI_WORK_DIR=/code
    PAI_chief_0_http_PORT=20007
    PAI_chief_0_ssh_PORT=20008
    PAI_ps_0_http_PORT=20001
    PAI_ps_0_ssh_PORT=20002
    PAI_worker_0_http_PORT=20003
    PAI_worker_0_ssh_PORT=20004
    PAI_worker_1_http_PORT=20005
    PAI_worker_1_ssh_PORT=20006
    RUNTIME_LOG_PIPE=/dev/stderr
    "#);
}

/// Hazard H1: the manual's names and the runtime's names, side by side.
#[test]
fn an_odd_role_name_is_there_in_both_spellings() {
    let text = |convention: &str| {
        format!(
            "{{name: a, conventions: [{convention}], roles: {{ps_Server.1: {{command: x, shared_memory: 512MiB}}, psserver1: {{command: x}}}}}}"
        )
    };
    for convention in ["pai_v1", "pai_v2"] {
        let env = told(&text(convention), "ps_Server.1-0").env;
        assert_eq!(env["PAI_HOST_IP_ps_Server.1_0"], "127.0.0.2", "{convention}");
        assert_eq!(env["PAI_HOST_IP_psserver1_0"], "127.0.0.3", "{convention}: the role that is really called so");
        assert_eq!(env["PAI_CURRENT_TASK_ROLE_NAME"], "ps_Server.1");
    }
    let env = told("{name: a, conventions: [pai_v2], roles: {ps_server: {command: x, shared_memory: 512MiB}}}", "ps_server-0").env;
    let both: Vec<(&str, &str)> =
        env.iter().filter(|(name, _)| name.contains("server")).map(|(name, value)| (name.as_str(), value.as_str())).collect();
    insta::assert_snapshot!(both.iter().map(|(name, value)| format!("{name}={value}\n")).collect::<String>(), @r#"
    PAI_HOST_IP_ps_server_0=127.0.0.2
    PAI_HOST_IP_psserver_0=127.0.0.2
    PAI_MIN_FAILED_TASK_COUNT_ps_server=1
    PAI_MIN_FAILED_TASK_COUNT_psserver=1
    PAI_MIN_SUCCEEDED_TASK_COUNT_ps_server=-1
    PAI_MIN_SUCCEEDED_TASK_COUNT_psserver=-1
    PAI_PORT_LIST_ps_server_0_http=20001
    PAI_PORT_LIST_ps_server_0_ssh=20002
    PAI_PORT_LIST_psserver_0_http=20001
    PAI_PORT_LIST_psserver_0_ssh=20002
    PAI_RESOURCE_ps_server=0,1,1024,0
    PAI_RESOURCE_psserver=0,1,1024,0
    PAI_TASK_ROLE_TASK_COUNT_ps_server=1
    PAI_TASK_ROLE_TASK_COUNT_psserver=1
    PAI_TASK_ROLE_ps_server_HOST_LIST=127.0.0.2:20001
    PAI_TASK_ROLE_psserver_HOST_LIST=127.0.0.2:20001
    PAI_ps_server_0_http_PORT=20001
    PAI_ps_server_0_ssh_PORT=20002
    PAI_psserver_0_http_PORT=20001
    PAI_psserver_0_ssh_PORT=20002
    "#);
    assert_eq!(env["FC_TASKROLE_NAME"], "psserver");
    assert_eq!(env["PAI_TASK_ROLE_INSTANCES"], "psserver:0");
}

#[test]
fn a_task_without_a_place_yet_has_no_address_and_keeps_nobody_from_theirs() {
    let plan = plan("{name: a, gang: false, conventions: [pai_v2, tf_config, torch], roles: {w: {command: x, tasks: 3}}}");
    let mut some = places(&plan);
    some.remove(1);
    let env = Rendezvous::new(gang(&plan, &some)).of(&"w-2".parse().unwrap()).unwrap().env;
    assert!(!env.contains_key("PAI_HOST_IP_w_1"));
    assert_eq!((&*env["PAI_HOST_IP_w_0"], &*env["PAI_HOST_IP_w_2"]), ("127.0.0.2", "127.0.0.4"));
    assert_eq!(env["TRAINMASTER_CLUSTER"], r#"{"w":["127.0.0.2:20001",null,"127.0.0.4:20008"]}"#);
    assert!(!env.contains_key("TF_CONFIG"), "a list with a gap would lie");
    assert_eq!((&*env["RANK"], &*env["WORLD_SIZE"]), ("2", "3"));
}
