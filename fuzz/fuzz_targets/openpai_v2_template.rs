//! Any text as a command of an OpenPAI file, where its references are put in.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../translated.rs"]
mod translated;

fuzz_target!(|parts: (&str, bool)| {
    let (command, has_secrets) = parts;
    let quoted = serde_json::to_string(command).expect("text is JSON");
    let secrets = if has_secrets { "secrets: {key: 'a&b'}\n" } else { "" };
    translated::whole(&format!(
        "protocolVersion: 2\nname: fuzz\ntype: job\nparameters: {{lr: 1.0, list: [1, 2], nothing: null, map: {{a: b}}}}\n{secrets}\
         prerequisites: [{{name: image, type: dockerimage, uri: python}}]\n\
         taskRoles: {{worker: {{dockerImage: image, resourcePerInstance: {{cpu: 1, memoryMB: 100, gpu: 0}}, commands: [{quoted}]}}}}\n"
    ));
});
