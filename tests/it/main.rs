mod local_engine;
