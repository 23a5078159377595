use super::*;

/// Lines as they are in a log; a `\r` begins a line anew.
fn read(printed: &Printed, text: &str) -> Vec<String> {
    let mut memory = Memory::default();
    let mut found = Vec::new();
    for line in text.lines() {
        let frames: Vec<&str> = line.split('\r').filter(|it| !it.is_empty()).collect();
        for (number, frame) in frames.iter().enumerate() {
            found.extend(printed.frame(&mut memory, frame, number + 1 == frames.len()));
        }
    }
    found.extend(printed.end(&mut memory));
    let step = |it: &Found| it.step.map_or("?".into(), |step| step.to_string());
    found.iter().map(|it| format!("{} {}={}", step(it), it.name, it.value)).collect()
}

fn ready_made(text: &str) -> Vec<String> {
    read(&Printed::default(), text)
}

#[test]
fn the_lines_of_the_first_samples_are_known() {
    let log = "Variables initialized ...\n\
               Step: 124607,  Epoch: 24,  Batch: 1600 of 2750,  Cost: 0.8027,  AvgTime: 6.79ms\n\
               Step: 124707,  Epoch: 24,  Batch: 1700 of 2750,  Cost: nan,  AvgTime:  7.01ms\n\
               Test-Accuracy: 0.89\nTotal Time: 1664.68s\nFinal Cost: 0.5333\ndone\n";
    let expected = [
        "124607 Cost=0.8027",
        "124607 AvgTime=6.79",
        "124707 Cost=NaN",
        "124707 AvgTime=7.01",
        "124707 Test-Accuracy=0.89",
        "124707 Total Time=1664.68",
        "124707 Final Cost=0.5333",
    ];
    assert_eq!(ready_made(log), expected);
}

#[test]
fn of_a_bar_of_keras_only_the_last_frame_of_its_epoch_counts() {
    let bar =
        |done: u32, rest: &str| format!("\x1b[1m{done}/71\x1b[0m \x1b[32m━━━━━\x1b[0m\x1b[37m━\x1b[0m \x1b[1m0s\x1b[0m 2ms/step - {rest}");
    let on_a_terminal = format!(
        "Epoch 1/2\n\r{}\r{}\r{}\n",
        bar(1, "accuracy: 0.1 - loss: 2.3"),
        bar(71, "accuracy: 0.5 - loss: 1.0"),
        bar(71, "accuracy: 0.5 - loss: 1.0 - val_loss: 0.9")
    );
    let in_a_file = format!(
        "Epoch 2/2\n{}\n{}\n{}\n",
        bar(1, "accuracy: 0.6 - loss: 0.8"),
        bar(71, "accuracy: 0.7 - loss: 0.7"),
        bar(71, "accuracy: 0.75 - loss: 0.6 - val_loss: nan")
    );
    let expected = ["1 accuracy=0.5", "1 loss=1", "1 val_loss=0.9", "2 accuracy=0.75", "2 loss=0.6", "2 val_loss=NaN"];
    assert_eq!(ready_made(&(on_a_terminal.clone() + &in_a_file)), expected);
    let evaluated = on_a_terminal + "16/16 - 0s - 2ms/step - accuracy: 0.97 - loss: 0.1\n";
    assert_eq!(ready_made(&evaluated)[3..], ["1 evaluate/accuracy=0.97", "1 evaluate/loss=0.1"]);
}

#[test]
fn the_old_bars_and_the_short_ones_of_keras_are_known_too() {
    let old = "Epoch 3/10\n  1/469 [....] - ETA: 1:02 - loss: 2.3\r469/469 [==============================] - 2s 4ms/step - loss: 0.25 - accuracy: 0.93 - val_loss: 0.1\n";
    assert_eq!(ready_made(old), ["3 loss=0.25", "3 accuracy=0.93", "3 val_loss=0.1"]);
    let short = "Epoch 1/1\n469/469 - 2s - 4ms/step - accuracy: 9.1e-01 - loss: 0.25\n";
    assert_eq!(ready_made(short), ["1 accuracy=0.91", "1 loss=0.25"]);
}

#[test]
fn names_with_numbers_are_values_where_the_line_tells_of_a_training() {
    let cases = [
        ("loss: 0.12 acc: 0.93", "? loss=0.12, ? acc=0.93"),
        ("loss=inf acc=-inf val_acc=NaN", "? loss=inf, ? acc=-inf, ? val_acc=NaN"),
        ("[2026-01-02 10:20:30] INFO train loss: 1e-3, lr=5e-05", "? train loss=0.001, ? lr=0.00005"),
        (
            "{'loss': 0.5, 'grad_norm': 1.25, 'learning_rate': 5e-05, 'epoch': 0.01}",
            "? loss=0.5, ? grad_norm=1.25, ? learning_rate=0.00005",
        ),
        ("{'loss': '0.5', 'epoch': '1.0'}", "1 loss=0.5"),
        ("Train Epoch: 2 [640/60000 (1%)]\tLoss: 2.300", "60640 Loss=2.3"),
        ("iter 100: loss 4.2, time 300.1ms", "100 loss=4.2"),
        ("step 250: train loss 1.75, val loss 1.80", "250 train loss=1.75, 250 val loss=1.8"),
        ("epoch=3/10 | accuracy=93.5%", "3 accuracy=93.5"),
        ("loss: 0.5, elapsed=12:30, version: 1.2.3", "? loss=0.5"),
        ("listening on port: 8080, workers=4", ""),
        ("loss of precision in a table", ""),
        ("accuracy: high", ""),
    ];
    for (line, expected) in cases {
        assert_eq!(ready_made(line).join(", "), expected, "{line}");
    }
}

#[test]
fn a_value_without_a_step_of_its_own_is_of_the_step_that_was_said_last() {
    assert_eq!(ready_made("Epoch 1/3\nloss: 0.5\nEpoch: 2\nloss: 0.25\n"), ["1 loss=0.5", "2 loss=0.25"]);
}

#[test]
fn a_bar_of_tqdm_carries_values_as_it_goes() {
    let bar = "Epoch 0:  50%|█████     | 50/100 [00:01<00:01, 45.10it/s, v_num=0, train_loss=0.500]\r\
               Epoch 0: 100%|██████████| 100/100 [00:02<00:00, 45.1it/s, v_num=0, train_loss=0.400]\r\
               Epoch 0: 100%|██████████| 100/100 [00:02<00:00, 45.1it/s, v_num=0, train_loss=0.400, val_loss=0.6]\r\
               Epoch 1:  10%|█         | 10/100 [00:00<00:01, 45.1it/s, v_num=0, train_loss=0.300]\n";
    assert_eq!(ready_made(bar), ["50 train_loss=0.5", "100 train_loss=0.4", "100 val_loss=0.6", "110 train_loss=0.3"]);
}

#[test]
fn rules_of_ones_own_say_what_is_what() {
    let rules = [r"^iter (?P<step>\d+) .*?err (?P<err>\S+)", r"METRIC (?P<name>[\w/]+) (?P<value>\S+)"];
    let printed = Printed { rules: rules.iter().map(|it| Rule::parse(it).unwrap()).collect() };
    let log = "iter 5 x err 0.25\nMETRIC val/top1 nan\nloss: 0.5\niter 6 err what\n";
    assert_eq!(read(&printed, log), ["5 err=0.25", "? val/top1=NaN"]);
}

#[test]
fn rules_of_ones_own_see_every_frame_of_a_bar() {
    let printed = Printed { rules: vec![Rule::parse(r"batch (?P<step>\d+)/\d+ err (?P<err>\S+)").unwrap()] };
    assert_eq!(
        read(&printed, "batch 1/3 err 0.5\rbatch 2/3 err 0.25\rbatch 3/3 err 0.125\ndone\n"),
        ["1 err=0.5", "2 err=0.25", "3 err=0.125"]
    );
}

#[test]
fn a_rule_that_cannot_work_is_refused_in_words() {
    let refused = |text: &str| Rule::parse(text).unwrap_err().to_string();
    assert_eq!(refused("(?P<loss>"), "is not a regular expression: unclosed group");
    assert!(refused(r"step (?P<step>\d+)").starts_with("names no value"));
    assert!(refused(r"(?P<a>(\w{1000}){1000})").starts_with("is not a regular expression"), "{}", refused(r"(?P<a>(\w{1000}){1000})"));
}
