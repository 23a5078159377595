//! What real writers write.

use serde_json::Value;

use super::boards::curves_are_equal;

#[test]
fn curves_of_tensorflow_keras_and_tensorboardx_are_those_that_tensorboard_shows() {
    let (hall, job) = curves_are_equal("tensorflow", "tensorboardX==2.6.5\n", "tensorflow first_tensorflow tensorboardx keras");
    // The same training printed bars; each epoch is one point of each of its curves.
    let history = std::fs::read(hall.house.output_dir(&job, "main-0").join("history.json")).unwrap();
    let history: std::collections::BTreeMap<String, Vec<f64>> = serde_json::from_slice(&history).unwrap();
    assert_eq!(history.keys().collect::<Vec<_>>(), ["accuracy", "loss", "val_accuracy", "val_loss"]);
    for (name, values) in history {
        let answer = hall.house.get_json(&format!("/api/v1/jobs/{job}/metrics/points?source=output&name={name}"));
        let points: Vec<&Value> = answer["curves"][0]["points"].as_array().unwrap().iter().collect();
        let steps: Vec<i64> = points.iter().map(|it| it["step"].as_i64().unwrap()).collect();
        assert_eq!(steps, [1, 2, 3, 4], "{name}: {}", hall.log(&job, "main-0"));
        let close = |(point, value): (&&Value, &f64)| (point["value"].as_f64().unwrap() - value).abs() < 6e-5;
        assert!(points.iter().zip(&values).all(close), "{name}: {points:?} {values:?}");
    }
}
