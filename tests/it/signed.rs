//! Addresses that open one file of a bucket for a while: signed for GET and nothing else, by a client that is not ours.

use std::{path::PathBuf, process::Command};

use serde_json::json;
use trainmaster::client::Call;

use super::{
    house::{House, text},
    stores::{ACCESS_KEY, BUCKET, ORIGINS, S3Server, SECRET_KEY, block_on},
};

const SIGN: &str = "
import sys
from minio import Minio
host, access_key, secret_key, bucket, name = sys.argv[1:]
client = Minio(host, access_key=access_key, secret_key=secret_key, secure=False, region='us-east-1')
print(client.presigned_get_object(bucket, name), end='')
";

fn signed(server: &S3Server, name: &str) -> String {
    let python = PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cache/trainmaster/tools/minio-7.2.20/bin/python");
    let host = server.endpoint.strip_prefix("http://").unwrap();
    let output = Command::new(&python)
        .args(["-c", SIGN, host, ACCESS_KEY, SECRET_KEY, BUCKET, name])
        .output()
        .unwrap_or_else(|error| panic!("{}: {error}; run scripts/setup.sh tests", python.display()));
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn what_a_signed_address_opens_is_an_input_and_a_dataset() {
    for origin in ORIGINS {
        let (house, server) = (House::new(), S3Server::start(origin));
        for (name, content) in [("digits.csv", "1,2,3\n"), ("empty", "")] {
            block_on(server.store().put_bytes(name, content.into())).unwrap();
        }
        let address = signed(&server, "digits.csv");
        house.call(Call::post("/api/v1/datasets", json!({ "name": "digits", "at": address }).to_string())).unwrap();
        let inputs = json!({ "address": address, "dataset": "digits@1", "nothing": signed(&server, "empty") });
        let main = json!({ "command": "cd /input && cat address/digits.csv dataset/digits.csv nothing/empty", "cpus": 0.1 });
        let id = house.submit(&json!({ "name": "signed", "inputs": inputs, "roles": { "main": main } }).to_string());
        let over = house.wait_until_over(&id);
        assert_eq!(over["state"], "succeeded", "{origin:?}: {over:#}");
        assert_eq!(house.log(&id, "main-0"), "1,2,3\n1,2,3\n", "{origin:?}");
    }
}
